from __future__ import annotations

import pytest

from clientgo.rest import default_user_agent, user_agent


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            ("ctl", "1.2.3", "linux", "amd64", "abcdefghijk"),
            "ctl/1.2.3 (linux/amd64) kubernetes/abcdefg",
        ),
        (("ctl", "1.2.3-rc1+x", "linux", "amd64", "abc"), "ctl/1.2.3 (linux/amd64) kubernetes/abc"),
        (("", "", "", "", ""), "unknown/unknown (unknown/unknown) kubernetes/unknown"),
    ],
)
def test_the_text_is_made_of_its_parts(parts, text):
    """REST-19."""
    assert user_agent(*parts) == text


def test_a_suffix_is_appended_to_the_default():
    """REST-19."""
    assert default_user_agent("foo-controller") == f"{default_user_agent()}/foo-controller"


@pytest.mark.parametrize(
    ("file", "program"),
    [("/opt/ctl", "ctl"), ("/opt/my_controller/__main__.py", "my_controller"), ("", "unknown")],
)
def test_a_program_is_called_by_its_file_or_its_package(file, program, monkeypatch):
    """REST-19."""
    monkeypatch.setattr("sys.argv", [file])

    assert default_user_agent().startswith(f"{program}/")
