"""Resyncs: on time whatever happens to connections, and out of the cache."""

from __future__ import annotations

import itertools

from clientgo.testing.scripted_server import (
    RecordedRequest,
    Script,
    answer_json,
    watch_begin,
    watch_end,
    watch_events,
)
from tests.field.collection import stay_for
from tests.field.objects import key, listing, modified, pod
from tests.field.scenario import Field, scenario

_WATCH_LASTS = 0.4


def _obedient_watch(request: RecordedRequest) -> Script:
    """A watch without events that ends when the client asked for."""
    seconds = float(request.query.get("timeoutSeconds", 600))
    return [*watch_begin(), *stay_for(seconds), *watch_end()]


@scenario("FIELD-10")
def a_resync_comes_though_connections_are_short(field: Field) -> None:
    versions = itertools.count(11)

    def watch(_: RecordedRequest) -> Script:
        event = modified(pod("busy", next(versions)))
        return [*watch_begin(), *watch_events(event), *stay_for(_WATCH_LASTS), *watch_end()]

    field.pods.on_list(answer_json(listing(pod("quiet"), pod("busy"))))
    field.pods.on_watch(watch)
    _, recorder = field.watched(resync_period=1.0)
    field.until(
        lambda: recorder.told(key("quiet")) == ["add", "update"],
        lambda: f"no resync in 3 s and {len(field.pods.watches)} watches, with a period of 1 s",
        within=30.0,
    )


@scenario("FIELD-10")
def a_period_need_not_be_whole_seconds(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("quiet"))))
    field.pods.on_watch(_obedient_watch)
    _, recorder = field.watched(resync_period=1.2)
    field.until(
        lambda: recorder.told(key("quiet")) == ["add", "update"],
        "no resync in 4 s, with a period of 1.2 s",
        within=30.0,
    )


@scenario("FIELD-11")
def a_resync_asks_the_server_for_nothing(field: Field) -> None:
    field.pods.on_list(answer_json(listing(pod("quiet"))))
    field.pods.on_watch(_obedient_watch)
    _, recorder = field.watched(resync_period=1.0)
    field.until(lambda: recorder.told(key("quiet")) == ["add", "update"], "no resync")
    update = recorder.calls[-1]
    field.check(len(field.pods.lists) == 1, f"{len(field.pods.lists)} lists")
    field.check(update.tells_that_nothing_changed, "it is not told that nothing changed")
