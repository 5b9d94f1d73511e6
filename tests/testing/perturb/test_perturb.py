"""Perturbations find what is wrong with a controller, and pass one that is right."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.__main__ import main
from clientgo.testing.perturb import PERTURBATIONS, PerturbError, Report, perturb
from clientgo.testing.perturb.progress import RunProgress
from tests.testing.perturb import controllers
from tests.testing.perturb.controllers import SOURCE, change_source

HERE = "tests.testing.perturb.controllers"


def disturbed(controller: Any, **options: Any) -> Report:
    return perturb(controller, manifests=[SOURCE], jobs=8, quiet=0.3, **options)


def failed(report: Report) -> set[str]:
    return {outcome.perturbation for outcome in report.failures}


def test_a_level_triggered_controller_passes_every_perturbation_of_each_write() -> None:
    report = disturbed(controllers.level_triggered, changes=[change_source])

    report.check()
    assert [str(write) for write in report.writes] == [
        "create secrets default/copy",
        "patch secrets default/copy",
    ]
    reached = {o.perturbation for o in report.outcomes if o.verdict == "ok"}
    assert reached == set(PERTURBATIONS) - {"lost-leadership"}


def test_a_controller_that_acts_on_the_event_is_found() -> None:
    report = disturbed(controllers.acting_on_events, timeout=3.0)

    assert "refused" in failed(report)
    [outcome] = [o for o in report.failures if o.perturbation == "refused"]
    assert outcome.problem == "Secret default/copy is missing"
    assert "500 create secrets default/copy" in outcome.described("")


def test_a_controller_that_creates_before_it_checks_is_found() -> None:
    report = disturbed(controllers.creating_before_it_checks, timeout=3.0)

    assert {"lost-answer", "stale-restart"} & failed(report)
    assert "lagging-cache" in failed(report)
    assert any("exists once more" in outcome.problem for outcome in report.failures)


def test_the_next_change_is_made_when_the_controller_has_dealt_with_the_one_before() -> None:
    report = perturb(
        controllers.slow_after_a_restart,
        manifests=[SOURCE],
        changes=[change_source],
        perturbations=["crash-before"],
        quiet=0.1,
    )

    report.check()
    assert len(report.writes) == 2


def test_a_controller_that_keeps_writing_is_found() -> None:
    with pytest.raises(PerturbError, match="does not come to rest"):
        disturbed(controllers.restless, timeout=2.0)


def test_a_failure_can_be_repeated_alone_by_its_name() -> None:
    name = "refused: create secrets default/copy"

    report = disturbed(controllers.acting_on_events, timeout=2.0, only=name)

    assert [outcome.name for outcome in report.failures] == [name]
    with pytest.raises(AssertionError, match=r"perturb\(\.\.\., only='refused: create"):
        report.check()


def test_what_differs_from_run_to_run_is_said_before_anything_is_disturbed() -> None:
    shown: list[int] = []
    with pytest.raises(PerturbError, match="two undisturbed runs differ") as error:
        disturbed(controllers.random_password, progress=lambda done, _: shown.append(done))

    lines = str(error.value).splitlines()
    assert lines[1] == "Secret default/copy differs:"
    assert "  --- first run" in lines
    assert "  +++ second run" in lines
    assert "normalise=" in lines[-2]
    assert "quiet=" in lines[-1]
    assert shown == []


def test_an_object_of_another_name_in_each_run_is_said_too() -> None:
    with pytest.raises(PerturbError, match=r"Secret default/copy-\w+ is new in the second run"):
        disturbed(controllers.random_name)


def test_what_may_differ_can_be_removed() -> None:
    report = disturbed(
        controllers.random_password,
        normalise=controllers.without_data,
        perturbations=["refused"],
    )

    report.check()
    assert [outcome.verdict for outcome in report.outcomes] == ["ok"]


def test_runs_that_need_the_same_port_say_that_they_share_the_process() -> None:
    with pytest.raises(PerturbError, match=r"no metrics\n.* use port 0 .* jobs=1"):
        disturbed(controllers.with_a_port(2), perturbations=["refused", "lost-answer"])


def test_progress_is_shown_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    disturbed(controllers.level_triggered, perturbations=["refused", "lost-answer"])
    assert capsys.readouterr().err == "perturb: 1 writes, 2 disturbed runs, 2 at a time\n"
    disturbed(controllers.level_triggered, perturbations=["refused"], progress=False)
    assert capsys.readouterr().err == ""


def test_long_runs_are_counted_now_and_then() -> None:
    out, clock = io.StringIO(), iter([0.0, 4.0, 10.0, 12.0, 20.5])
    progress = RunProgress(out, lambda: next(clock))
    for done in range(1, 5):
        progress.show(done, 9)
    assert out.getvalue() == "perturb: 2 of 9 runs after 10 s\nperturb: 4 of 9 runs after 20 s\n"


def test_an_unknown_perturbation_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no perturbation is called crush; use crash-before"):
        disturbed(controllers.level_triggered, perturbations=["crush"])


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    file = tmp_path / "source.yaml"
    file.write_text(yaml.safe_dump(SOURCE))
    return str(file)


def test_the_command_prints_a_table_the_failures_and_how_to_repeat_them(
    manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["perturb", f"{HERE}:acting_on_events", "--manifest", manifest]
    chosen = ["--perturbation", "refused", "--perturbation", "lost-answer", "--timeout", "2"]

    assert main([*arguments, *chosen]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["refused", "lost-answer"]
    assert lines[1].split() == ["create", "secrets", "default/copy", "FAIL", "ok"]
    assert "  Secret default/copy is missing" in lines
    again = f"    clientgo {' '.join(arguments)} --only 'refused: create secrets default/copy'"
    assert again in lines
    assert lines[-1] == "1 writes: 1 perturbations passed, 1 failed, 0 not reached"


def test_the_command_shows_what_differs_line_by_line_and_can_remove_it(
    manifest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["perturb", f"{HERE}:random_password", "--manifest", manifest]
    assert main(arguments) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("clientgo perturb: two undisturbed runs differ")
    assert sum(line.strip().startswith(("-  ", "+  ")) for line in said) == 2, said

    removing = ["--normalise", f"{HERE}:without_data", "--perturbation", "refused"]
    assert main([*arguments, *removing]) == 0


@pytest.mark.parametrize(
    ("controller", "more", "message"),
    [
        ("nowhere", [], "names no function"),
        ("nowhere:run", [], "No module named 'nowhere'"),
        (f"{HERE}:nothing", [], "nothing"),
        (f"{HERE}:level_triggered", ["--manifest", "nowhere.yaml"], "nowhere.yaml can't be read"),
        (f"{HERE}:level_triggered", ["--only", "what"], "no run is called 'what'"),
    ],
)
def test_mistakes_on_the_command_line_are_named(
    manifest: str,
    capsys: pytest.CaptureFixture[str],
    controller: str,
    more: list[str],
    message: str,
) -> None:
    assert main(["perturb", controller, "--manifest", manifest, *more]) == 2

    output = capsys.readouterr()
    assert message in output.err
    assert len(output.err.splitlines()) == 1


def test_the_example_of_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "testing" / "perturb.md"
    [example] = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(compile(example, str(page), "exec"), names)

    names["test_the_controller_ends_well_whatever_happens"]()
