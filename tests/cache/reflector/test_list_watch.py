"""A source made of two functions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from clientgo.cache import ListWatch, WatchStream
from clientgo.meta import ListMeta, ListOptions, ObjectList, WatchEvent


class Stream:
    def read(self) -> Sequence[WatchEvent[Any]]:
        return ()

    def stop(self) -> None: ...


def test_each_call_is_one_call_of_its_function_with_the_options_as_they_are() -> None:
    """LWT-01, LWT-03: no paging of its own."""
    page: ObjectList[Any] = ObjectList(metadata=ListMeta(continue_="more"), items=[])
    stream, stop = Stream(), threading.Event()
    asked: list[Any] = []

    def list_fn(options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        asked.append((options, stop))
        return page

    def watch_fn(options: ListOptions, stop: threading.Event) -> WatchStream:
        asked.append((options, stop))
        return stream

    source = ListWatch(list_fn, watch_fn)
    options = ListOptions(limit=7)

    assert source.list(options, stop) is page
    assert source.watch(options, stop) is stream
    assert asked == [(options, stop)] * 2
    assert isinstance(stream, WatchStream)


def test_a_source_can_say_that_it_cannot_stream_a_list() -> None:
    """LWT-05."""

    def unused(*_: Any) -> Any: ...

    assert ListWatch(unused, unused).supports_watch_list
    assert not ListWatch(unused, unused, supports_watch_list=False).supports_watch_list
