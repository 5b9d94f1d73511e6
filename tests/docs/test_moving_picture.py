"""The picture at the top of the README shows the recorded run, as of now."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from hack import moving_picture

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_of_the_recording_that_the_page_plays() -> None:
    drawn = moving_picture.draw()

    assert moving_picture.PICTURE.read_text() == drawn, "run make tables"
    assert "PUT deployments/web-1" in drawn


def test_each_sentence_is_shown_once_in_its_turn_and_all_can_be_read_without_motion() -> None:
    picture = ElementTree.fromstring(moving_picture.draw())
    said = [one.text for one in picture.iter(f"{SVG}text") if one.get("class") == "said"]
    described = picture.findtext(f"{SVG}desc")

    assert len(said) == 12
    assert described == " ".join(map(str, said))


def test_a_recording_without_the_sync_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = moving_picture.RECORDING.read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(line for line in lines if '"hop": "queue.get"' not in line))
    monkeypatch.setattr(moving_picture, "RECORDING", cut)

    with pytest.raises(LookupError, match=r"shows no queue\.get"):
        moving_picture.recorded_steps()
