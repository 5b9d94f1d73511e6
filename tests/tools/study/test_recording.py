"""Lines in order, each reader gets each line once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clientgo.tools.study.recording import Recording, RecordingError, load_recording


def line(hop: str, at: float) -> bytes:
    return json.dumps({"hop": hop, "at": at}).encode()


def recording(*hops: str, limit: int = 100) -> Recording:
    made = Recording(limit=limit)
    for number, hop in enumerate(hops):
        made.add(line(hop, number))
    return made


def hops(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["hop"] for line in lines]


def test_a_reader_gets_each_line_once_in_order() -> None:
    made = recording("a", "b")

    part = made.read(0, 0)
    made.add(line("c", 3))
    rest = made.read(part.end, 0)

    assert hops(part.lines) == ["a", "b"]
    assert (rest.end, hops(rest.lines)) == (3, ["c"])


def test_a_read_without_a_new_line_is_empty_after_its_timeout() -> None:
    assert recording("a").read(1, 0).lines == []


def test_the_oldest_lines_are_dropped_beyond_the_limit() -> None:
    made = recording("a", "b", "c", "d", limit=2)

    part = made.read(0, 0)

    assert (part.end, hops(part.lines)) == (4, ["c", "d"])
    assert hops(made.lines()) == ["c", "d"]


def test_lines_that_the_others_need_are_not_dropped() -> None:
    made = Recording(limit=2)
    made.add(line("study.source", 0), keep=True)
    for number, hop in enumerate("abc"):
        made.add(line(hop, number))

    assert hops(made.lines()) == ["study.source", "b", "c"]
    assert hops(made.read(3, 0).lines) == ["c"]


def test_a_closed_recording_ends_the_wait_of_its_readers() -> None:
    made = recording("a")
    made.close()

    assert made.read(1, 3600).lines == []


def test_a_saved_recording_can_be_loaded(tmp_path: Path) -> None:
    made = recording("a", "b")
    (tmp_path / "saved.jsonl").write_bytes(made.text())

    assert load_recording(tmp_path / "saved.jsonl").lines() == made.lines()


def test_a_file_that_is_no_recording_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"hop": "a", "at": 1}\n\n{"level": "info"}\n')

    with pytest.raises(RecordingError, match=r"other\.jsonl is no recording: line 3: .*hop"):
        load_recording(tmp_path / "other.jsonl")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"gone\.jsonl can't be read: No such file"):
        load_recording(tmp_path / "gone.jsonl")
