"""The page of what goes on in a process."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import SharedIndexInformer
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.observe.debug import DebugPage, thread_stacks
from clientgo.observe.serving import Request
from clientgo.testing import FakeClock, FakeSource
from clientgo.workqueue import RateLimitingQueue
from tests.background import Background

PATH = "/debug/clientgo"


def shown(page: DebugPage, key: str = "", accept: str = "") -> str:
    response = page.respond(Request(PATH, key, headers={"accept": accept}))
    assert response.status == 200
    return response.body.decode()


def test_queues_are_shown_and_their_keys_explained() -> None:
    page = DebugPage()
    with (
        RateLimitingQueue[ObjectName](name="foos") as names,
        RateLimitingQueue[str](name="texts") as texts,
    ):
        page.add_queue(names)
        page.add_queue(texts)
        names.add(ObjectName("default", "a"))
        texts.add("default/b")
        assert "ready=1 processing=0" in shown(page)
        assert shown(page, "default/a").splitlines() == [
            "queue foos: ready, one of 1; every worker is busy",
            "queue texts: not in the queue: nothing has added it since its last sync",
        ]
        assert "queue texts: ready" in shown(page, "default/b")


def test_an_informer_says_which_version_it_has() -> None:
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        FakeSource(sample=ConfigMap()),  # it is never started
        ConfigMap,
        clock=FakeClock(),
    )
    page = DebugPage()
    page.add_informers(lambda: [informer])
    assert shown(page, "default/a") == (
        "informer ConfigMap: not synced: it was not started; "
        "call its run, or start of its factory\n"
    )
    informer.indexer.add(
        ConfigMap(metadata=ObjectMeta(name="a", namespace="default", resource_version="7"))
    )
    assert shown(page, "default/a") == "informer ConfigMap: has version 7 of it\n"
    assert "reflector: not started" in shown(page)
    assert "objects: 1" in shown(page)


def test_a_part_that_cannot_be_read_hides_no_other() -> None:
    def fails() -> dict[str, Any]:
        raise OSError("no disk")

    page = DebugPage()
    page.add("things", fails)
    page.add("things", lambda: {"a": {"n": 1, "ok": True, "none": None, "share": 0.5}})
    text = shown(page)
    assert "  part 1 failed: OSError: no disk\n" in text
    assert "  a: n=1 ok=yes none=- share=0.5\n" in text


def test_stacks_name_each_thread_and_what_it_is_doing() -> None:
    end, waiting = threading.Event(), threading.Event()

    def wait_for_the_test() -> None:
        waiting.set()
        end.wait(30)

    thread = Background(wait_for_the_test)
    assert waiting.wait(30)
    stacks = thread_stacks()
    end.set()
    thread.result()
    (found,) = [calls for calls in stacks.values() if "wait_for_the_test" in str(calls)]
    assert any(call.endswith("wait_for_the_test: end.wait(30)") for call in found)
    assert any("thread_stacks" in call for call in stacks[_me()])


def _me() -> str:
    thread = threading.current_thread()
    return f"{thread.name} ({thread.ident})"


def test_programs_get_json() -> None:
    page = DebugPage()
    page.explain_with(lambda key: [f"{key} is fine"])
    page.add("things", lambda: {"error": ValueError("x")})
    report = json.loads(shown(page, accept="application/json"))
    assert report["things"] == {"error": "ValueError: x"}
    assert _me() in report["threads"]
    assert json.loads(shown(page, "a", "application/json")) == ["a is fine"]


@pytest.mark.parametrize("key", ["a/b/c"])
def test_what_is_no_key_is_refused(key: str) -> None:
    page = DebugPage()
    with RateLimitingQueue[ObjectName](name="foos") as queue:
        page.add_queue(queue)
        response = page.respond(Request(PATH, key))
    assert response.status == 400
    assert b"expected namespace/name" in response.body


def test_an_error_begins_no_line_of_the_page() -> None:
    page = DebugPage()
    page.add("informers", lambda: {"pods": {"last_error": ValueError("no\nthreads: none\x1b[2J")}})
    page.explain_with(lambda key: [f"informer pods: refused\nqueue pods: {key} is done"])

    report = page.respond(Request(PATH, "", headers={})).body.decode()
    found = page.respond(Request(PATH, "default/a", headers={})).body.decode()

    assert r"ValueError: no\nthreads: none\u001b[2J" in report
    assert found == "informer pods: refused\\nqueue pods: default/a is done\n"
