"""What ``make release`` refuses before it builds."""

from __future__ import annotations

import pytest

from hack.release import ReleaseError, check_changelog, check_version


@pytest.mark.parametrize(
    ("version", "tags", "changed", "said"),
    [
        (
            "0.2.0",
            ["v0.3.0"],
            [],
            "the tag v0.3.0 differs from clientgo.__version__, which is 0.2.0",
        ),
        ("0.2.0.dev0", ["v0.2.0"], [], "the tag v0.2.0 differs"),
        ("0.2.0", ["very-good"], [], "version 0.2.0 needs its tag: git tag v0.2.0"),
        ("0.2.0", ["v0.2.0"], ["a.py"], "commit or remove these first: a.py"),
    ],
)
def test_a_commit_that_is_no_release_of_its_version_is_refused(
    version: str, tags: list[str], changed: list[str], said: str
) -> None:
    with pytest.raises(ReleaseError, match=said):
        check_version(version, tags, changed)


def test_a_release_has_a_date_in_the_changelog() -> None:
    check_changelog("0.2.0.dev0", "## Unreleased (0.2.0)\n")
    check_changelog("0.2.0", "# Changelog\n\n## 0.2.0 - 2026-12-01\n")

    with pytest.raises(ReleaseError, match=r"no line '## 0\.2\.0 - YYYY-MM-DD'"):
        check_changelog("0.2.0", "## Unreleased (0.2.0)\n")


def test_a_tagged_commit_is_a_release_and_a_commit_between_two_is_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    check_version("0.2.0", ["v0.2.0", "stable"], [])
    assert capsys.readouterr().out == ""

    check_version("0.2.0.dev0", [], [])
    assert capsys.readouterr().out == "0.2.0.dev0 has no tag: this is no release\n"
