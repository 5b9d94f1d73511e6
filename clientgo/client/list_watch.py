"""A reflector's source: the objects of a :class:`ResourceClient`.

Promises what a reflector needs of a source, with options adjusted in one place. Upstream:
client-go ``tools/cache`` NewListWatchFromClient, NewFilteredListWatchFromClient.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from clientgo.cache import NotServedError, WatchStream
from clientgo.client.resource_client import ResourceClient
from clientgo.meta import (
    EventType,
    ListOptions,
    ObjectList,
    ObjectName,
    SelectorError,
    ShardSelector,
    WatchEvent,
    has_metadata,
    metadata_of,
    parse_shard_selector,
)
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.client")

_CONCLUSIVE: Final = 64
"""A server that sends so many objects of the shard and no other one respects the selector."""

_OF_OBJECTS: Final = (EventType.ADDED, EventType.MODIFIED)

Tweak: TypeAlias = Callable[[ListOptions], ListOptions]
"""Returns changed options (they are immutable), as ``msgspec.structs.replace`` makes them."""


@uncopyable("it has connections to a server; make one in each process")
class ResourceListWatch:
    """Lists and watches one kind of object in one namespace, or with ``""`` in all.

    ``tweak`` changes the options of every list and watch, as to select by label;
    ``supports_watch_list`` False says that this server cannot stream an initial list.
    """

    __slots__ = ("_check", "_client", "_tweak", "supports_watch_list")

    def __init__(
        self,
        client: ResourceClient[Any],
        namespace: str = "",
        tweak: Tweak | None = None,
        *,
        supports_watch_list: bool = True,
    ) -> None:
        self._client = client.namespace(namespace) if namespace else client
        self._tweak = tweak
        self._check: _ShardCheck | None = None
        self.supports_watch_list = supports_watch_list

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        options = self._tweaked(options)
        answer: ObjectList[Any] = self._client.list(options, stop=stop)
        if options.shard_selector:
            self._check_of(options.shard_selector).see(answer.items)
        return answer

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        options = self._tweaked(options)
        stream = self._client.watch(options, stop=stop)
        if options.shard_selector:
            return _CheckedStream(stream, self._check_of(options.shard_selector))
        return stream

    def _check_of(self, selector: str) -> _ShardCheck:
        if self._check is None or self._check.selector != selector:
            self._check = _ShardCheck(selector, self._client.resource.plural)
        return self._check

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        return self._client.why_not_served(stop)

    def _tweaked(self, options: ListOptions) -> ListOptions:
        if self._tweak is None:
            return options
        tweaked = self._tweak(options)
        if not isinstance(tweaked, ListOptions):
            raise TypeError(f"the tweak of the list options returned {tweaked!r}, not ListOptions")
        return tweaked


def selecting(*, labels: str = "", fields: str = "", shard: ShardSelector | str = "") -> Tweak:
    """Return a tweak that selects objects by labels, by fields, by a shard, or by several.

    ``shard`` is for a server that supports it (:func:`~clientgo.meta.shard_range`).
    """

    def tweak(options: ListOptions) -> ListOptions:
        return replace(
            options, label_selector=labels, field_selector=fields, shard_selector=str(shard)
        )

    return tweak


class _ShardCheck:
    """Logs once if the API server sends an object outside of the shard that was asked for.

    A server that does not know shard selectors ignores them and sends everything.
    """

    def __init__(self, selector: str, what: str) -> None:
        self.selector: Final = selector
        self._what = what
        self._left = _CONCLUSIVE
        try:
            self._shard = parse_shard_selector(selector)
        except SelectorError:
            self._left = 0  # a newer syntax, or the server refuses it

    def see(self, objs: Iterable[Any]) -> None:
        """Look at the objects of an answer, until it is clear what the server does."""
        for obj in islice(objs, self._left):
            self._left -= 1
            if has_metadata(obj) and metadata_of(obj).uid and not self._shard.matches(obj):
                self._left = 0
                _log.warning(
                    "the API server ignores the shard selector of %s: %s is not in %s; each shard "
                    "gets all objects, so filter them with ShardSelector.matches, or enable the "
                    "feature gate ShardedListAndWatch",
                    self._what,
                    ObjectName.of(obj),
                    self.selector,
                )
                return


class _CheckedStream:
    """A watch of a shard."""

    def __init__(self, stream: WatchStream, check: _ShardCheck) -> None:
        self._stream = stream
        self._check = check
        self.stop = stream.stop

    def read(self) -> Sequence[WatchEvent[Any]]:
        events = self._stream.read()
        self._check.see(event.object for event in events if event.type in _OF_OBJECTS)
        return events
