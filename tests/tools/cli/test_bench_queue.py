"""``clientgo bench queue`` with a queue of the user's: what it prints, writes, and returns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clientgo.__main__ import main
from clientgo.testing.bench import queue_report
from clientgo.testing.bench.queue_report import compared
from clientgo.testing.bench.queue_rows import Settings
from clientgo.testing.bench.workload import Workload
from clientgo.util.text.terminal import ExitStatus

QUEUES = """
import queue, threading
from clientgo.testing.bench import ConditionQueue

class Mine(ConditionQueue):
    pass

class Stuck(ConditionQueue):
    def get(self):
        threading.Event().wait()

def broken():
    raise ConnectionError("no broker at localhost")

def a_list():
    return []
"""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SMALL = ("--items", "30", "--seconds", "0", "--workers", "2")
Bench = Callable[..., int]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    (tmp_path / "bench_queues.py").write_text(QUEUES)
    (tmp_path / "other.json").write_text('{"workload": {}, "rows": []}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bench_queues", raising=False)
    return lambda *arguments: main(["bench", "queue", *SMALL, *arguments])


def test_a_queue_of_the_user_is_a_row_of_the_table(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """BEN-03"""
    assert bench("--queue", "bench_queues:Mine") == 0

    lines = capsys.readouterr().out.splitlines()
    start = lines.index("  not ranked, hands an item to two workers at a time:")
    ranked, others = lines[4:start], lines[start + 1 : start + 4]
    names = {line[:26].strip(): line[26:].split() for line in ranked}
    assert set(names) == {
        "bench_queues:Mine", "Queue", "PriorityQueue", "RateLimitingQueue",
        "textbook Condition queue",
    }  # fmt: skip
    assert {len(cells) for cells in names.values()} == {10}
    assert names["Queue"][1] == "1.00"
    assert {line[:26].strip() for line in others} == {
        "queue.Queue", "queue.SimpleQueue", "asyncio.Queue"
    }  # fmt: skip
    assert {line[26:].split()[1] for line in others} == {"-"}


def test_a_queue_that_is_not_ranked_returns_1(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """BEN-02"""
    assert bench("--only", "--queue", "queue:LifoQueue") == ExitStatus.FAILED

    out = capsys.readouterr().out
    assert "not ranked, hands an item to two workers at a time:\nqueue:LifoQueue" in out
    assert "textbook" not in out


def test_a_queue_that_hangs_is_given_up(bench: Bench, tmp_path: Path) -> None:
    """BEN-04: its threads wait in it, and the command ends."""
    command = [sys.executable, "-m", "clientgo", "bench", "queue", *SMALL, "--only"]
    command += ["--queue", "bench_queues:Stuck", "--timeout", "1"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert ended.returncode == ExitStatus.FAILED
    assert (
        "  cannot be measured:\nbench_queues:Stuck  does not hand out what is added: "
        "get() after add('a') has not returned for 1 s\n"
    ) in ended.stdout
    assert ended.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queue", "bench_queues"], "'bench_queues' names no function"),
        (["--queue", "bench_queues:Nothing"], "bench_queues has no function 'Nothing'"),
        (["--queue", "no_such_module:Q"], "no_such_module cannot be imported"),
        (
            ["--queue", "bench_queues:broken"],
            "bench_queues:broken: the factory raised ConnectionError: no broker at localhost",
        ),
        (["--queue", "bench_queues:a_list"], "a_list: list has no method 'add' or 'put'"),
        (["--page", "no/page.html"], "no/page.html can't be written: there is no directory no"),
        (["--compare", "missing.json"], "missing.json is no result of clientgo bench queue"),
        (["--compare", "other.json"], "other.json is no result of clientgo bench queue"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """BEN-04"""
    assert bench(*arguments) == ExitStatus.USAGE

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("clientgo bench queue: ")
    assert message in line


def test_a_load_with_delays_leaves_queues_out_that_have_none(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("--delays", "0.5", "--only", "--queue", "bench_queues:Mine") == 1

    out = capsys.readouterr().out
    assert "bench_queues:Mine  it has no add_after, for the items with a delay" in out
    assert "RateLimitingQueue" in out


@pytest.mark.parametrize("workers", ["2", "1,2"])
def test_a_load_of_delayed_items_only_has_no_latency(
    bench: Bench, capsys: pytest.CaptureFixture[str], tmp_path: Path, workers: str
) -> None:
    assert bench("--delays", "1", "--only", "--workers", workers, "--page", "a.html") == 0

    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Rate")]
    assert [row.split()[3:6] for row in rows] == [["-", "-", "-"]] * len(workers.split(","))
    assert (tmp_path / "a.html").read_text().count("<svg") == 1


def test_a_system_without_a_load_average_has_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows."""
    monkeypatch.delattr(os, "getloadavg")
    assert queue_report.result([], Workload(), Settings(), "Queue")["load_average"] is None


def test_the_result_the_page_and_the_comparison(
    bench: Bench, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """BEN-03"""
    written = ("--json", "a.json", "--page", "a.html", "--only", "--queue", "bench_queues:Mine")
    assert bench("--workers", "1,2", *written) == 0
    result = json.loads((tmp_path / "a.json").read_text())
    capsys.readouterr()
    assert bench("--workers", "1,2", *written, "--compare", "a.json") == 0

    out = capsys.readouterr().out
    rows = {(row["queue"], row["workers"]) for row in result["rows"]}
    assert rows == {(name, n) for name in ("Queue", "bench_queues:Mine") for n in (1, 2)}
    assert all(row["items_a_second"] > 0 for row in result["rows"])
    assert all(0 < row["p50"] <= row["p99"] <= row["p999"] for row in result["rows"])
    assert out.count("times as fast as then; beside Queue") == 4
    page = (tmp_path / "a.html").read_text()
    assert " processors, " in page.partition("</p>")[0]
    charts = page.split("<svg")[1:]
    assert len(charts) == 2
    for chart in charts:
        root = ET.fromstring("<svg" + chart.partition("</svg>")[0] + "</svg>")
        assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 2


def test_results_of_other_loads_and_machines_are_not_compared() -> None:
    def result(rate: float, **other: Any) -> dict[str, Any]:
        row = {"queue": "mine", "workers": 4, "items_a_second": rate, "beside_base": rate / 100}
        fixed = {"date": "2026-01-01", "load_average": 1.0, "machine": "a", "base": "Queue"}
        return {**fixed, "workload": {"items": 10}, "rows": [row], **other}

    assert list(compared(result(50.0), result(100.0))) == [
        "beside 2026-01-01 (load average 1.0, now 1.0):",
        "mine, 4 workers: 0.50 times as fast as then; beside Queue 0.50, then 1.00",
    ]
    assert list(compared(result(50.0), result(100.0, workload={"items": 20}))) == [
        "no comparison: the earlier result is of another load (items 20 then)"
    ]
    assert "another machine" in next(iter(compared(result(1.0), result(1.0, machine="b"))))


def test_the_queue_of_the_page_is_measured_by_the_printed_command(tmp_path: Path) -> None:
    """BEN-03"""
    page = Path(__file__).parents[3] / "docs/reference/benchmark-a-queue.md"
    blocks = FENCE.findall(page.read_text())
    code = next(text for language, text in blocks if language == "python")
    command = next(text for language, text in blocks if language == "sh").split()
    (tmp_path / "my_queue.py").write_text(code)
    assert command[0] == "clientgo"
    ended = subprocess.run(
        [sys.executable, "-m", *command, *SMALL],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (0, "")
    [line] = (each for each in ended.stdout.splitlines() if each.startswith("my_queue:MyQueue"))
    assert ended.stdout.index(line) < ended.stdout.index("not ranked")
    assert len(line.split()) == 11
