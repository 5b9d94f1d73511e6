"""How commands look: colours and progress for terminals only, statuses for scripts."""

from __future__ import annotations

import io

import pytest

from clientgo.__main__ import main
from clientgo.testing import FakeClock
from clientgo.util.text.terminal import GREEN, CommandParser, ExitStatus, Progress, paint


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_gets_colours_and_a_file_does_not() -> None:
    assert paint("good", GREEN, Terminal()) == "\x1b[32mgood\x1b[0m"
    assert paint("good", GREEN, io.StringIO()) == "good"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_environment_turns_colours_off(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    assert paint("good", GREEN, Terminal()) == "good"


def test_help_has_painted_headings_on_a_terminal_only() -> None:
    parser = CommandParser(prog="clientgo tool")
    parser.show_examples("clientgo tool --fast")
    terminal, file = Terminal(), io.StringIO()

    parser.print_help(terminal)
    parser.print_help(file)

    assert "\x1b[1mexamples:\x1b[0m\n  clientgo tool --fast\n" in terminal.getvalue()
    assert "\nexamples:\n  clientgo tool --fast\n\nexit status:\n" in file.getvalue()


def test_the_help_of_a_command_keeps_the_capitals_of_its_description(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["apiserver", "--help"])

    assert "\nServe the Kubernetes API from memory," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["apiserver", "--kubeconfg", "x"], "--kubeconfg; did you mean --kubeconfig?"),
        (["apiserver", "--kubeconfg=x"], "--kubeconfg=x; did you mean --kubeconfig?"),
        (["gen", "crd", "a", "--zzz"], "--zzz"),
    ],
)
def test_a_misspelled_option_is_refused_by_the_command(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)

    name = "clientgo gen crd" if "gen" in arguments else "clientgo apiserver"
    error = capsys.readouterr().err
    assert exited.value.code == ExitStatus.USAGE
    assert error.startswith(f"usage: {name} ")
    assert error.endswith(f"\n{name}: unrecognized arguments: {told}\n")


def test_progress_is_shown_when_work_has_taken_two_seconds() -> None:
    clock, out = FakeClock(), Terminal()
    with Progress("runs", 4, out=out, now=clock.monotonic) as progress:
        clock.step(1.9)
        progress.show(1)
        assert out.getvalue() == ""
        clock.step(0.2)
        progress.show(2)
        progress.show(3)
        assert out.getvalue().count("\r") == 1
        assert "━" * 15 + "\x1b[0m" in out.getvalue()
        assert out.getvalue().endswith("2/4")

    assert out.getvalue().endswith("\r\x1b[K")


def test_progress_of_work_without_a_known_end_counts() -> None:
    out = Terminal()
    with Progress("objects", out=out, after=0.0) as progress:
        progress.show(7, note="reading")

        assert out.getvalue().endswith("objects ... 7  reading")


def test_progress_writes_nothing_where_no_terminal_is() -> None:
    out = io.StringIO()
    with Progress("runs", 4, out=out, after=0.0) as progress:
        progress.show(2)

    assert out.getvalue() == ""


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])

    assert end.value.code == ExitStatus.OK
    assert capsys.readouterr().out.startswith("clientgo ")


def test_wrong_arguments_end_with_2_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["watch", "--no-such-option"])

    assert end.value.code == ExitStatus.USAGE
    usage, *_, complaint = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: clientgo watch")
    assert complaint.startswith("clientgo watch: the following arguments are required: KIND")


def test_an_interrupted_command_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("clientgo.tools.cli.completion._run", interrupted)

    assert main(["completion", "bash"]) == ExitStatus.INTERRUPTED


@pytest.mark.parametrize(
    "command",
    ["apiserver", "bench", "completion", "debug", "gen", "operator", "perturb", "study", "watch"],
)
def test_the_help_of_every_command_has_examples_and_statuses(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])

    text = capsys.readouterr().out
    assert (
        f"\nexamples:\n  {'source <(' if command == 'completion' else ''}clientgo {command}" in text
    )
    assert "\nexit status:\n  0" in text
