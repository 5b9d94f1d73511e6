"""A list-watch that is none ends the start, with advice, and is not retried for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.cache import (
    CacheSyncError,
    Indexer,
    ListWatch,
    ListWatchError,
    Reflector,
    SharedIndexInformer,
    wait_for_cache_sync,
)
from clientgo.meta import ListMeta, ListOptions, ObjectList, ObjectMeta
from clientgo.testing import FakeClient, FakeSource
from tests.cache.running import TIMEOUT, no_delays, running

ADVICE = "pass client.resource(Pod), or a ListWatch of two functions"


def listed(*_: Any) -> ObjectList[Any]:
    return ObjectList(metadata=ListMeta(resource_version="1"), items=[])


class NoWatch:
    list = staticmethod(listed)


class OneArgument:
    def list(self, options: ListOptions) -> ObjectList[Any]:
        raise NotImplementedError

    def watch(self, options: ListOptions, stop: threading.Event) -> Any:
        raise NotImplementedError


class Async:
    async def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        raise NotImplementedError

    async def watch(self, options: ListOptions, stop: threading.Event) -> Any:
        raise NotImplementedError


WRONG: dict[str, tuple[Any, str]] = {
    "a class of objects": (Pod, f"the class Pod is no list-watch; {ADVICE}"),
    "a class of sources": (FakeSource, f"the class FakeSource is no list-watch; {ADVICE}"),
    "a client": (
        FakeClient(),
        f"a FakeClient is no list-watch: it has no list method; {ADVICE}",
    ),
    "a method": (
        FakeClient().resource,
        f"the function Client.resource is no list-watch: it has no list method; {ADVICE}",
    ),
    "nothing": (None, f"a NoneType is no list-watch: it has no list method; {ADVICE}"),
    "a name": ("pods", f"a str is no list-watch: it has no list method; {ADVICE}"),
    "objects": ([Pod()], f"a list is no list-watch: it has no list method; {ADVICE}"),
    "half of one": (NoWatch(), f"a NoWatch is no list-watch: it has no watch method; {ADVICE}"),
    "other arguments": (
        OneArgument(),
        "the list method of a OneArgument cannot be called with (options, stop): "
        "too many positional arguments",
    ),
    "coroutines": (
        Async(),
        "the list method of a Async is async; a reflector calls it in a thread: make it a def",
    ),
}
each_wrong = pytest.mark.parametrize(("source", "message"), WRONG.values(), ids=WRONG)


@each_wrong
@pytest.mark.parametrize(
    "make", [SharedIndexInformer, lambda source: Reflector(source, Indexer())], ids=["informer", ""]
)
def test_what_is_no_list_watch_is_refused_with_advice(
    make: Callable[[Any], object], source: Any, message: str
) -> None:
    with pytest.raises(ListWatchError) as caught:
        make(source)

    assert str(caught.value) == message
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("list_fn", "watch_fn", "message"),
    [
        (
            lambda options: None,
            listed,
            "the list function cannot be called with (options, stop): too many positional "
            "arguments",
        ),
        (
            listed,
            lambda options, stop, more: None,
            "the watch function cannot be called with (options, stop): missing a required "
            "argument: 'more'",
        ),
        (listed, None, "the watch function is None, not a function of (options, stop)"),
        (listed(), listed, "the list function is {}, not a function of (options, stop)"),
    ],
)
def test_functions_of_other_arguments_are_refused(
    list_fn: Any, watch_fn: Any, message: str
) -> None:
    with pytest.raises(ListWatchError) as caught:
        ListWatch(list_fn, watch_fn)

    assert str(caught.value) == message.format(list_fn)


def raising(error: Exception) -> Callable[..., Any]:
    def function(*_: Any) -> Any:
        raise error

    return function


LATE: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "a list that returns nothing": (
        lambda *_: None,
        listed,
        "the list of the list-watch returned None, not an ObjectList",
    ),
    "a list of another library": (
        lambda *_: {"items": []},
        listed,
        "the list of the list-watch returned {'items': []}, not an ObjectList",
    ),
    "a watch that returns nothing": (
        listed,
        lambda *_: None,
        "the watch of the list-watch returned None, not a stream with read and stop",
    ),
    "a bug in the list function": (
        raising(TypeError("list() got an unexpected keyword argument 'namespace'")),
        listed,
        "the list of the list-watch raised TypeError: list() got an unexpected keyword argument "
        "'namespace'",
    ),
    "a typing error in the watch function": (
        listed,
        raising(NameError("name 'clinet' is not defined")),
        "the watch of the list-watch raised NameError: name 'clinet' is not defined",
    ),
    "an interface that is not filled in": (
        raising(NotImplementedError("later")),
        listed,
        "the list of the list-watch raised NotImplementedError: later",
    ),
}
each_late = pytest.mark.parametrize(("list_fn", "watch_fn", "problem"), LATE.values(), ids=LATE)


@each_late
def test_a_list_watch_that_turns_out_to_be_wrong_ends_the_informer(
    list_fn: Any, watch_fn: Any, problem: str
) -> None:
    source = ListWatch(list_fn, watch_fn, supports_watch_list=False)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(source, name="pods")

    with pytest.raises(ListWatchError) as caught:
        informer.run(threading.Event())

    assert str(caught.value) == f"pods reflector: {problem}; no retry helps, so it ends"
    assert informer.is_stopped()
    assert informer.last_error() is caught.value


def test_a_wait_for_the_first_list_ends_with_the_informer() -> None:
    source = ListWatch(lambda *_: None, listed, supports_watch_list=False)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(source, name="pods")
    failed: list[BaseException] = []

    def run() -> None:
        try:
            informer.run(threading.Event())
        except ListWatchError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    result = wait_for_cache_sync(threading.Event(), informer, timeout=TIMEOUT)
    thread.join()

    with pytest.raises(CacheSyncError) as caught:
        result.raise_for_unsynced()
    assert str(caught.value) == f"not synced, one has ended: pods (last error: {failed[0]})"


def test_a_list_watch_that_has_worked_is_tried_again_and_its_bug_is_logged_each_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a server sends may lead to the bug; the next answer may not."""
    source = FakeSource(sample=Pod(metadata=ObjectMeta(name="a", namespace="d")))
    answers = [listed, raising(KeyError), *[raising(TypeError("no items"))] * 3, source.list]

    def list_fn(options: ListOptions, stop: threading.Event) -> Any:
        return (answers.pop(0) if len(answers) > 1 else answers[0])(options, stop)

    def watch(options: ListOptions, stop: threading.Event) -> Any:
        if len(answers) > 1:
            raise ConnectionResetError("down")
        return source.watch(options, stop)

    watching = ListWatch(list_fn, watch, supports_watch_list=False)
    informer: SharedIndexInformer[Any] = SharedIndexInformer(
        watching, Pod, name="pods", delays=no_delays()
    )
    with running(informer):
        source.wait_for_watch(timeout=TIMEOUT)

    bugs = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [record.getMessage() for record in bugs] == [
        "pods reflector: failed to list Pod: no items; that is a bug in the list-watch, "
        "tried again until it works"
    ] * 3
    assert all("no items" in str(record.exc_info) for record in bugs)


def test_a_resource_client_is_a_list_watch() -> None:
    client = FakeClient(Pod(metadata=ObjectMeta(name="a", namespace="d")))
    informer = SharedIndexInformer(client.resource(Pod))

    with running(informer) as stop:
        assert wait_for_cache_sync(stop, informer, timeout=TIMEOUT)
        assert informer.indexer.list_keys() == ["d/a"]
