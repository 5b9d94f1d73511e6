"""Expressions that take long leave the event loop, and end."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.cel import Budget, BudgetExceededError, CelCompileError, Environment
from clientgo.testcluster.cel.environment import Program
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.objects import large_work
from clientgo.testcluster.server.objects.large_work import LargeWork, called_on_this_loop
from clientgo.testcluster.server.resources import errors
from clientgo.util.process import CpuTimeExceededError, cpu_time_limit
from clientgo.util.text.go_regexp import GoRegexp
from tests.conformance.webhook_server import WebhookServer
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    MERGE_PATCH,
    WIDGETS,
    Api,
    configmap,
    widget,
    widget_crd,
)
from tests.testcluster.server.policies import GROUP, MUTATING, VALIDATING, install, mutating, policy

_THREAD = "apiserver-expressions"
_LOOP = "[1, 2, 3].all(i, i > 0)"


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every expression take long; return the threads on which they were evaluated."""
    monkeypatch.setattr(large_work, "FIRST_TRY", -1.0)
    found: list[str] = []
    evaluate = Program.evaluate

    def recorded(self: Program, *arguments: Any) -> Any:
        value = evaluate(self, *arguments)
        found.append(threading.current_thread().name.rpartition("_")[0])
        return value

    monkeypatch.setattr(Program, "evaluate", recorded)
    return found


def by_policy(**spec: Any) -> Callable[[Api], None]:
    return lambda api: install(api, VALIDATING, policy(_LOOP, **spec))


def by_mutation(api: Api) -> None:
    change = f"Object{{metadata: Object.metadata{{labels: {{'a': string({_LOOP})}}}}}}"
    install(api, MUTATING, mutating(apply=change))


def by_rule(api: Api) -> None:
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": _LOOP}]
    api.create(CRDS, definition)


@pytest.mark.parametrize(
    "prepare",
    [
        by_policy(),
        by_policy(variables=[{"name": "v", "expression": _LOOP}]),
        by_policy(matchConditions=[{"name": "c", "expression": _LOOP}]),
        by_policy(auditAnnotations=[{"key": "k", "valueExpression": f"string({_LOOP})"}]),
        lambda api: install(
            api, VALIDATING, policy("authorizer.path('/healthz').check('get').allowed()")
        ),
        by_mutation,
    ],
    ids=["validation", "variable", "condition", "annotation", "authorizer", "mutation"],
)
def test_a_policy_that_takes_long_is_evaluated_on_a_thread(
    api: Api, threads: list[str], prepare: Callable[[Api], None]
) -> None:
    prepare(api)
    threads.clear()

    api.create(CONFIGMAPS, configmap("a"))

    assert threads
    assert set(threads) == {_THREAD}


def test_a_rule_of_a_definition_that_takes_long_is_evaluated_on_a_thread(
    api: Api, threads: list[str]
) -> None:
    by_rule(api)
    threads.clear()

    api.create(WIDGETS, widget("a"))
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert api.call("PATCH", f"{WIDGETS}/a", patch, MERGE_PATCH).status == 200

    assert threads
    assert set(threads) == {_THREAD}


def test_a_condition_of_a_webhook_that_takes_long_is_evaluated_on_a_thread(
    api: Api, threads: list[str]
) -> None:
    server = WebhookServer()
    server.answers["/a"] = {"response": {"allowed": True}}
    webhook = {
        "name": "a.example.com",
        "clientConfig": {
            "url": f"{server.url}/a",
            "caBundle": base64.b64encode(server.ca_pem).decode(),
        },
        "rules": policy()["spec"]["matchConstraints"]["resourceRules"],
        "matchConditions": [{"name": "c", "expression": _LOOP}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    try:
        body = {"metadata": {"name": "a"}, "webhooks": [webhook]}
        api.create(f"{GROUP}/validatingwebhookconfigurations", body)
        threads.clear()
        api.create(CONFIGMAPS, configmap("a"))
    finally:
        server.close()

    assert threads == [_THREAD]


def test_a_pattern_that_takes_long_is_matched_on_a_thread(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    size = {"type": "string", "pattern": "^[a-z]+$"}
    schema["properties"]["spec"] = {"type": "object", "properties": {"size": size}}
    api.create(CRDS, definition)
    monkeypatch.setattr(large_work, "FIRST_TRY", -1.0)
    found: list[str] = []
    matches = GoRegexp.matches

    def recorded(self: GoRegexp, text: str) -> bool:
        result = matches(self, text)
        found.append(threading.current_thread().name.rpartition("_")[0])
        return result

    monkeypatch.setattr(GoRegexp, "matches", recorded)

    api.create(WIDGETS, widget("a") | {"spec": {"size": "large"}})

    assert found == [_THREAD]


def test_causes_are_written_on_a_thread_and_up_to_a_length(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these shows the whole list, as on a real server."""
    keys = {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}
    keys["x-kubernetes-list-map-keys"] = ["k"] * 300
    definition = widget_crd()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "properties": {"a": keys}}
    monkeypatch.setattr(errors, "_MOST_TEXT", 100_000)
    monkeypatch.setattr(large_work, "FIRST_TRY", -1.0)
    found: list[str] = []
    as_cause = FieldError.as_cause

    def recorded(self: FieldError) -> dict[str, str]:
        found.append(threading.current_thread().name.rpartition("_")[0])
        return as_cause(self)

    monkeypatch.setattr(FieldError, "as_cause", recorded)

    answer = api.call("POST", CRDS, definition)

    shown = [cause["message"] for cause in answer.body["details"]["causes"]]
    assert (answer.status, set(found)) == (422, {_THREAD})
    assert 100_000 < sum(map(len, shown)) + 100 * len(shown) < 120_000


def test_others_are_answered_meanwhile(
    api: Api, server: EmbeddedAPIServer, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop over 200 annotations, four levels deep, held the server for seconds."""
    install(api, VALIDATING, policy(_LOOP))
    begun, answered = threading.Event(), threading.Event()
    evaluate = Program.evaluate

    def slow(self: Program, *arguments: Any) -> Any:
        value = evaluate(self, *arguments)
        begun.set()
        assert answered.wait(60)
        return value

    monkeypatch.setattr(Program, "evaluate", slow)
    writer = threading.Thread(target=api.create, args=(CONFIGMAPS, configmap("a")))
    writer.start()
    assert begun.wait(60)

    assert Api(server.url).call("GET", "/version").status == 200

    answered.set()
    writer.join()
    assert api.get(f"{CONFIGMAPS}/a")["metadata"]["name"] == "a"


def test_a_write_whose_expressions_use_too_much_time_fails(
    api: Api, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(api, VALIDATING, policy(_LOOP))
    monkeypatch.setattr(large_work, "EXPRESSIONS_LIMIT", -1.0)

    answer = api.call("POST", CONFIGMAPS, configmap("a"))

    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert "processor time" in answer.body["message"]
    assert api.call("GET", f"{CONFIGMAPS}/a").status == 404


def _never_ends() -> None:
    budget = Budget(10**12)
    while True:
        budget.spend(1)


def test_what_no_client_waits_for_ends() -> None:
    """Else the next one would wait for it."""

    async def play() -> str:
        work = LargeWork()
        asked = asyncio.create_task(work.evaluate(_never_ends))
        while not work._running:  # until it has begun
            await asyncio.sleep(0)
        asked.cancel()
        result = await work.evaluate(lambda: "next")
        work.close()
        return result

    assert asyncio.run(asyncio.wait_for(play(), 60)) == "next"


def test_expressions_end_when_the_server_does() -> None:
    async def play() -> None:
        work = LargeWork()
        asked = asyncio.create_task(work.evaluate(_never_ends))
        while not work._running:
            await asyncio.sleep(0)
        work.close()
        await asyncio.wait([asked])
        assert asked.exception() is not None or asked.cancelled()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_many_short_expressions_take_turns_with_other_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_work, "_TURN", -1.0)

    async def play() -> list[str]:
        happened: list[str] = []
        work = LargeWork().on(10)
        asyncio.get_running_loop().call_soon(happened.append, "another request")
        for number in range(2):
            await work.evaluate(happened.append, f"expression {number}")
        return happened

    assert asyncio.run(play()) == ["expression 0", "another request", "expression 1"]


def test_what_belongs_to_the_event_loop_is_called_there() -> None:
    async def play() -> None:
        here = threading.current_thread()
        find = called_on_this_loop(threading.current_thread)
        assert find() is here
        assert await asyncio.to_thread(find) is here
        for failure in (ZeroDivisionError, RuntimeError, TimeoutError):
            with pytest.raises(failure, match="own"):
                await asyncio.to_thread(called_on_this_loop(_raising(failure("own"))))

    asyncio.run(play())


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_a_loop_that_has_ended_is_not_waited_for() -> None:
    async def find() -> Callable[[], threading.Thread]:
        return called_on_this_loop(threading.current_thread)

    found = asyncio.run(find())
    failures: list[BaseException] = []

    def call() -> None:
        try:
            found()
        except CpuTimeExceededError as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(failures) == 1


# -- what checks the time


def test_a_budget_is_exact_to_the_unit() -> None:
    for limit in (0, 1, 999, 1000, 1001, 2500):
        budget = Budget(limit)
        for left in range(limit, 0, -1):
            assert budget.left == left
            budget.spend(1)
        with pytest.raises(BudgetExceededError):
            budget.spend(1)
        assert budget.left == -1
    budget = Budget(2500)
    budget.spend(2500)
    budget.charge(10)
    assert budget.left == -10


def test_a_loop_checks_the_time_and_so_does_each_expression() -> None:
    program = Environment({}).compile("[1, 2].all(i, i > 0)")
    with cpu_time_limit(-1.0):
        with pytest.raises(CpuTimeExceededError):
            program.evaluate({})
        with pytest.raises(CpuTimeExceededError):
            Environment({}).compile("1 + 1")
    with cpu_time_limit(0.02), pytest.raises(CpuTimeExceededError):
        _never_ends()


def test_an_expression_has_at_most_100_000_characters() -> None:
    Environment({}).compile(f"'{'x' * 99_998}'")
    with pytest.raises(CelCompileError, match="size: 100001, limit 100000"):
        Environment({}).compile(f"'{'x' * 99_999}'")
