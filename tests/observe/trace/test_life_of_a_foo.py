"""Every hop of one Foo, from its creation to its settled status, with the sample controller."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from clientgo.client import Client
from clientgo.observe.trace import Hop, Recorder, tracing
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from sample_controller.demo import artifact, install_crd, run_controller, running
from sample_controller.types import Foo

KEY = "default/example-foo"


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    recorder = Recorder()
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedAPIServer())
        config = load_config(str(server.kubeconfig))
        user = stack.enter_context(Client(config))  # before the tracer: not traced
        install_crd(user)
        stack.enter_context(tracing(recorder))
        client = stack.enter_context(Client(config))
        stack.enter_context(running("controller", lambda end: run_controller(client, end)))

        recorder.wait_for(lambda hop: hop.of == "Foo" and hop.details.get("type") == "BOOKMARK")
        user.resource(Foo).namespace("default").create(artifact("example-foo.yaml"))
        woken = recorder.wait_for(lambda hop: hop.hop == "handler.call" and hop.of == "Deployment")
        recorder.wait_for(lambda hop: hop.hop == "sync.start", after=woken.n)
        recorder.wait_for(lambda hop: hop.hop == "queue.done", after=woken.n)
    return recorder


def of_foo(recorder: Recorder) -> list[Hop]:
    return [hop for hop in recorder.hops(key=KEY) if hop.of in ("Foo", "foos")]


def test_a_foo_passes_every_hop_in_order(recorder: Recorder) -> None:
    hops = of_foo(recorder)
    first_sync = hops[: [hop.hop for hop in hops].index("queue.done") + 1]
    # The status that it writes may come back as an event before the request is answered.
    later = {hop.version for hop in hops if hop.hop == "watch.event"} - {hops[0].version}
    of_its_own = [
        hop.hop
        for hop in first_sync
        if hop.version not in later
        and hop.details.get("outcome", "new") == "new"
        and (hop.hop != "cache.get" or "worker" in hop.thread)  # a handler reads it too
    ]

    assert of_its_own == [
        "watch.event",
        "fifo.append",
        "fifo.pop",
        "index.update",
        "handler.call",
        "queue.add",
        "queue.get",
        "sync.start",
        "cache.get",
        "request.sent",  # the Deployment
        "request.answered",
        "request.sent",  # the status
        "request.answered",
        "sync.end",
        "queue.forget",
        "queue.done",
    ]


def test_each_hop_has_its_thread_version_and_details(recorder: Recorder) -> None:
    hops = {hop.hop: hop for hop in reversed(of_foo(recorder))}
    version = hops["watch.event"].version

    assert version
    for name in ("fifo.append", "fifo.pop", "index.update", "handler.call"):
        assert hops[name].version == version
    assert hops["watch.event"].thread == "Foo reflector"
    assert hops["index.update"].thread == "Foo"
    assert hops["sync.start"].thread.startswith("foo-worker-")
    assert hops["watch.event"].details == {"type": "ADDED"}
    assert hops["fifo.append"].details == {"delta": "Added"}
    assert hops["fifo.pop"].details == {"deltas": ["Added"]}
    assert hops["index.update"].details == {"action": "add"}
    assert hops["handler.call"].details["event"] == "add"
    assert hops["queue.add"].details == {"outcome": "new"}
    assert hops["request.sent"].details["method"] == "POST"
    assert hops["request.sent"].details["path"].startswith("/apis/apps/v1/namespaces/default/")
    assert hops["request.answered"].details["status"] == 201
    assert hops["sync.end"].details["error"] == ""


def test_the_deployment_that_is_created_wakes_its_foo(recorder: Recorder) -> None:
    hops = recorder.hops(key=KEY, of="Deployment")
    deployment = [hop.hop for hop in hops if hop.hop != "cache.get"]

    assert deployment[:5] == [
        "watch.event",
        "fifo.append",
        "fifo.pop",
        "index.update",
        "handler.call",
    ]
    woken = recorder.hops("handler.call", of="Deployment")[0]
    add = recorder.hops("queue.add", key=KEY, after=woken.n)[0]
    assert add.thread == woken.thread
    assert add.details["outcome"] in ("new", "while_processing")


def test_the_informer_s_own_requests_are_its_own(recorder: Recorder) -> None:
    opened = recorder.hops("watch.opened", of="Foo")[0]
    hops = [hop for hop in recorder.hops(of="Foo") if hop.n <= opened.n]

    assert [hop.hop for hop in hops] == ["request.sent", "request.answered", "watch.opened"]
    assert "/foos?" in hops[0].details["path"]
    assert "watch=true" in hops[0].details["path"]


def test_the_event_is_recorded_for_the_foo(recorder: Recorder) -> None:
    event = recorder.hops("event.recorded")[0]

    assert (event.of, event.key) == ("sample-controller", KEY)
    assert event.details == {"reason": "Synced", "message": "Foo synced successfully"}


def test_the_watch_ends_with_the_controller(recorder: Recorder) -> None:
    assert {hop.of for hop in recorder.hops("watch.opened")} == {"Foo", "Deployment"}
