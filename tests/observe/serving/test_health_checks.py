"""The page that says how a program is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from clientgo.observe.serving import CheckTimeoutError, HealthChecks, Request


def failing(message: str = "secret reason") -> None:
    raise RuntimeError(message)


def checks(timeout: float = 60.0, **named: Callable[[], object]) -> HealthChecks:
    made = HealthChecks("readyz", timeout=timeout)
    for name, check in named.items():
        made.add(name, check)
    return made


def page(made: HealthChecks, rest: str = "", **query: list[str]) -> tuple[int, str]:
    response = made.respond(Request(f"/readyz/{rest}", rest, query))
    return response.status, response.body.decode()


def test_what_is_well_says_ok() -> None:
    assert page(checks(caches=lambda: None)) == (200, "ok")
    assert page(checks()) == (200, "ok")


def test_verbose_names_the_checks_in_order() -> None:
    assert page(checks(workers=lambda: None, caches=lambda: None), verbose=[""]) == (
        200,
        "[+]caches ok\n[+]ping ok\n[+]workers ok\nreadyz check passed\n",
    )


def test_a_failure_names_the_check_and_withholds_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert page(checks(caches=failing)) == (
        500,
        "[-]caches failed: reason withheld\n[+]ping ok\nreadyz check failed\n",
    )
    assert "readyz: check caches fails: secret reason" in caplog.text


def test_a_check_that_exits_has_failed() -> None:
    assert page(checks(caches=sys.exit))[0] == 500


def test_a_failure_is_logged_when_it_begins_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "clientgo.observe.serving")
    broken = [True, True, False]
    made = checks(caches=lambda: failing() if broken.pop(0) else None)
    statuses = [page(made)[0] for _ in range(3)]

    assert statuses == [500, 500, 200]
    assert [record.getMessage() for record in caplog.records] == [
        "readyz: check caches fails: secret reason",
        "readyz: check caches passes again",
    ]


def test_a_check_can_be_excluded() -> None:
    made = checks(caches=failing)

    assert page(made, exclude=["caches"]) == (200, "ok")
    assert page(made, exclude=["caches"], verbose=[""]) == (
        200,
        "[+]caches excluded: ok\n[+]ping ok\nreadyz check passed\n",
    )


def test_excluding_what_is_not_there_is_remarked() -> None:
    assert page(checks(), exclude=["x", "y"], verbose=[""]) == (
        200,
        "[+]ping ok\n"
        'warn: some health checks cannot be excluded: no matches for "x", "y"\n'
        "readyz check passed\n",
    )


def test_a_single_check_can_be_run() -> None:
    made = checks(caches=failing, workers=lambda: None)

    assert page(made, "workers") == (200, "ok")
    assert page(made, "caches") == (
        500,
        "[-]caches failed: reason withheld\nreadyz check failed\n",
    )
    assert page(made, "else")[0] == 404


def test_a_check_that_hangs_fails_in_time_and_is_not_started_again() -> None:
    go_on, calls = threading.Event(), []

    def hang() -> None:
        calls.append(1)
        go_on.wait(60.0)

    made = checks(timeout=0.02, slow=hang)
    for _ in range(3):
        (slow,) = [result for result in made.report().results if result.name == "slow"]
        assert isinstance(slow.error, CheckTimeoutError)
    go_on.set()

    assert len(calls) == 1


def test_checks_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=60.0)

    assert checks(timeout=60.0, a=meeting.wait, b=meeting.wait).report().ok


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="'caches' already"):
        checks(caches=failing).add("caches", failing)
