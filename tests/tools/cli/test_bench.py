"""``clientgo bench``: every line has a rate and a ratio for each peer."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from clientgo.__main__ import main
from clientgo.testing.bench import (
    ConditionQueue,
    Stopwatch,
    compare,
    keys,
    load_delayed,
    load_failures,
    load_one_by_one,
    load_readds,
    load_threads,
    names_of_queues,
    new_queue,
)
from clientgo.util.text.terminal import ExitStatus


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main(["bench", *arguments, "--seconds", "0"]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()[2:]]


def test_the_informer_is_measured_beside_a_bare_loop(capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(capsys, "informer", "--objects", "20")

    assert len(found) == 4
    assert all(float(line[-1]) > 0 for line in found)


@pytest.mark.parametrize("name", names_of_queues())
def test_every_queue_takes_the_loads(name: str) -> None:
    items = keys(20)

    assert load_one_by_one(new_queue(name), items) > 0
    assert load_threads(new_queue(name), items, producers=2, workers=2) > 0


def test_the_textbook_queue_hands_an_item_that_was_added_again_out_when_it_is_done() -> None:
    assert load_readds(ConditionQueue(), keys(5)) > 0
    assert load_readds(new_queue("Queue"), keys(5)) > 0


def test_delayed_and_failed_items_come() -> None:
    assert load_delayed(keys(5)) > 0
    assert load_failures(keys(5)) > 0


def test_a_ratio_is_the_median_of_the_rounds() -> None:
    ours, theirs = iter([1.0, 2.0, 1.0]), iter([3.0, 2.0, 2.0])

    found = compare(10, {"ours": ours.__next__, "theirs": theirs.__next__}, rounds=3, budget=0.0)

    assert found.ratio("ours", "theirs") == 2.0
    assert found.rate("ours") == 10.0


def test_a_side_may_say_its_processor_time_without_what_it_does_besides() -> None:
    def side(wall: float, cpu: float) -> Stopwatch:
        watch = Stopwatch()
        watch.wall, watch.cpu = wall, cpu
        return watch

    sides = {"ours": lambda: side(1.0, 0.5), "theirs": lambda: side(3.0, 0.25)}

    found = compare(10, sides, rounds=3, budget=0.0)

    assert found.ratio("ours", "theirs") == 3.0
    assert found.cpu_ratio("ours", "theirs") == 0.5


def test_ctrl_c_ends_the_measurement_after_a_round_with_130() -> None:
    program = [sys.executable, "-m", "clientgo", "bench", "queue", "--seconds", "600"]
    program += ["--only", "--items", "50000"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)

        assert process.wait(60) == ExitStatus.INTERRUPTED
