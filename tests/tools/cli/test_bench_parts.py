"""``clientgo bench limiter`` and ``bench informer`` with parts of the user's (BEN-05)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.util.text.terminal import ExitStatus

PARTS = """
import asyncio, http.client, urllib.parse
from clientgo.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter

def doubling():
    return ItemExponentialFailureRateLimiter(0.25, 8.0)

class NeverForgets(BucketRateLimiter):
    def num_requeues(self, item):
        return 3
    def __init__(self):
        super().__init__(10.0, 100)

def no_redis():
    raise ConnectionError("no redis")

FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/foos?watch=true"

def lines(url):
    parsed = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parsed.netloc)
    connection.request("GET", parsed.path + FOOS)
    with connection.getresponse() as answer:
        for line in answer:
            if b'"BOOKMARK"' not in line:
                yield line
    connection.close()

async def awaiting(url):
    for line in lines(url):
        yield line
        await asyncio.sleep(0)

def too_few(url):
    return range(3)

def none(url):
    return 7

def refused(url):
    raise PermissionError("forbidden")
"""
Bench = Callable[..., int]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    (tmp_path / "bench_parts.py").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bench_parts", raising=False)
    return lambda part, *options: main(["bench", part, "--seconds", "0", *options])


def test_a_limiter_of_the_user_is_a_row(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("limiter", "--items", "20", "--limiter", "bench_parts:doubling") == 0

    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.split() == ["failures/s", "CPU", "us", "bytes", "left", "waits", "(s)"]
    assert second.startswith("bench_parts:doubling ")
    assert second.endswith("  0.25, 0.5, 1")
    assert float(second.split()[1].replace(",", "")) > 0


def test_a_limiter_that_forgets_nothing_is_not_measured(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench("limiter", "--items", "20", "--limiter", "bench_parts:NeverForgets") == 1

    assert "bench_parts:NeverForgets" in (out := capsys.readouterr().out)
    assert "num_requeues() is 3 after forget(), 3 before" in out


@pytest.mark.parametrize(
    ("part", "option", "name", "status", "message"),
    [
        ("limiter", "--limiter", "no_redis", 2, "the factory raised ConnectionError: no redis"),
        ("informer", "--watch", "missing", 2, "bench_parts has no function 'missing'"),
        ("informer", "--watch", "too_few", 1, "it ended after 3 of 40 events"),
        ("informer", "--watch", "none", 1, "it returned a int, which has no events"),
        ("informer", "--watch", "refused", 1, "it raised PermissionError: forbidden"),
    ],
)
def test_a_part_that_cannot_be_measured_is_said_in_one_line(
    bench: Bench, capsys: pytest.CaptureFixture[str],
    part: str, option: str, name: str, status: int, message: str,
) -> None:  # fmt: skip
    size = "--items" if part == "limiter" else "--objects"
    assert bench(part, size, "20", option, f"bench_parts:{name}") == status

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"clientgo bench {part}: bench_parts")
    assert line.endswith(message)


@pytest.mark.parametrize("name", ["lines", "awaiting"])
def test_a_watch_of_the_user_has_a_column(
    bench: Bench, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert bench("informer", "--objects", "20", "--watch", f"bench_parts:{name}") == ExitStatus.OK

    _, head, *rows = capsys.readouterr().out.splitlines()
    assert head.endswith(f"x bare loop  x bench_parts:{name}")
    watches = [row for row in rows if row.startswith("watch")]
    assert len(watches) == 2
    assert all(float(row.split()[-1]) > 0 < float(row.split()[-2]) for row in watches)
