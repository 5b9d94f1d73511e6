"""Test a controller against the ways in which controllers fail.

::

    report = perturb(run_controller, manifests=[definition, foo], changes=[scale_to_three])
    report.check()

:func:`perturb` runs the controller twice, to learn its writes and whether it ends the same. Then it
runs it again for each write
and each perturbation: a crash before and after it, a lost answer, a failure, a conflict, caches
that go back in time or lag behind, a change that is never seen, lost leadership. In the end the
objects must be those of the undisturbed run, none missing and none twice, and the controller must
be quiet.

Promises: each run has an API server of its own, in this process; a write is held while the
perturbation is prepared, so that nothing depends on timing.

Runs are parallel and share the process: global variables, files, ports, the environment. A
controller that needs one of these for itself runs with ``jobs=1``.

Does not promise to find a bug that needs two perturbations, or a process to end: a controller that
crashes here loses its connection, is stopped, and starts again. What it keeps in global variables
stays.

Source: Sieve, OSDI 2022. client-go has no such tool.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from clientgo.testing.perturb.objects import RUNS, Normalise, State, differences
from clientgo.testing.perturb.perturbations import PERTURBATIONS, applies
from clientgo.testing.perturb.progress import RunProgress
from clientgo.testing.perturb.report import Outcome, Report
from clientgo.testing.perturb.trial import Change, PerturbError, Plan, Runner, Trial
from clientgo.testing.perturb.writes import Write

__all__ = [
    "PERTURBATIONS",
    "Change",
    "Normalise",
    "Outcome",
    "PerturbError",
    "Report",
    "Runner",
    "Write",
    "perturb",
]


def perturb(
    controller: Runner,
    *,
    manifests: Sequence[Mapping[str, Any]],
    changes: Sequence[Change] = (),
    beside: Runner | None = None,
    normalise: Normalise | None = None,
    perturbations: Sequence[str] = tuple(PERTURBATIONS),
    only: str = "",
    quiet: float = 0.5,
    timeout: float = 60.0,
    jobs: int = 4,
    command: str = Report.command,
    progress: Callable[[int, int], object] | bool = True,
) -> Report:
    """Disturb a controller at each of its writes, and compare how it ends.

    ``controller(config)`` returns a context manager in which the controller runs; a
    :class:`~clientgo.operator.Manager` is one. ``manifests`` are created after it has started, but
    definitions and namespaces before. ``changes`` are then made one after the other, each when the
    controller has been ``quiet`` for so many seconds. ``beside`` runs what else a cluster has, and
    is not disturbed. ``normalise`` changes an object before it is compared, to remove what may
    differ. A run has ``timeout`` seconds to reach the undisturbed state. ``only`` is the name of
    one outcome, from the text of a failure. ``progress`` is called with how many runs are over, and
    how many there are; True shows it on stderr.

    Blocks until all runs are over; ``jobs`` run at a time, in this process.

    Raises:
        PerturbError: the controller does not start, writes nothing, or ends differently from run
            to run.
        ValueError: an unknown perturbation.
    """
    unknown = set(perturbations) - set(PERTURBATIONS)
    if unknown:
        known = ", ".join(PERTURBATIONS)
        raise ValueError(f"no perturbation is called {', '.join(sorted(unknown))}; use {known}")
    plan = Plan(
        controller=controller,
        manifests=manifests,
        changes=changes,
        beside=beside,
        normalise=normalise,
        quiet=quiet,
        timeout=timeout,
    )
    undisturbed = _undisturbed(plan)
    writes = undisturbed.log.writes()
    if not writes:
        raise PerturbError("the controller has written nothing, so there is nothing to disturb")
    _check_repeatable(plan, undisturbed)
    cases = [
        (name, write)
        for write in writes
        for name in perturbations
        if applies(name, write, elects=undisturbed.elects()) and only in ("", f"{name}: {write}")
    ]
    outcomes: list[Outcome] = []
    with RunProgress() as shown, ThreadPoolExecutor(jobs) as threads:
        if progress is True:
            shown.begin(len(writes), len(cases), jobs)
            progress = shown.show
        for outcome in threads.map(
            lambda case: _disturbed(plan, case[0], case[1], undisturbed.states), cases
        ):
            outcomes.append(outcome)
            if progress:
                progress(len(outcomes), len(cases))
    return Report(writes, outcomes, command)


def _undisturbed(plan: Plan) -> Trial:
    trial = Trial(plan)
    if problem := trial.run():
        raise PerturbError(f"undisturbed, {problem}")
    return trial


def _check_repeatable(plan: Plan, first: Trial) -> None:
    """Raise PerturbError if the controller ends differently without any perturbation."""
    steps = zip(first.states, _undisturbed(plan).states, strict=True)
    found = next(filter(None, (differences(a, b, RUNS) for a, b in steps)), "")
    if found:
        raise PerturbError(
            f"two undisturbed runs differ, so that no other run can be compared:\n{found}\n"
            "remove what may differ, such as a random password, with normalise=...\n"
            "if a change came before the controller had dealt with the last one, raise quiet=..."
        )


def _disturbed(plan: Plan, name: str, write: Write, expected: Sequence[State]) -> Outcome:
    trial = Trial(plan, write, PERTURBATIONS[name])
    try:
        problem = trial.run(expected)
    except Exception as error:
        if _needs_a_port_of_another_run(error):
            raise PerturbError(
                f"{name}: {write}: {error}\nruns are parallel in one process: let the controller's "
                "servers use port 0 (a Manager: metrics='0'), or run with jobs=1"
            ) from error
        problem = f"{type(error).__name__}: {error}"
    if problem:
        return Outcome(name, write, "FAIL", problem, trial.log.around(write))
    return Outcome(name, write, "ok" if trial.struck else "not reached")


def _needs_a_port_of_another_run(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
            return True
        cause = cause.__cause__ or cause.__context__
    return False
