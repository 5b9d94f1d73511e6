"""A reflector's source: the objects of a :class:`ResourceClient`.

Promises what a reflector needs of a source, with options adjusted in one place. Upstream:
client-go ``tools/cache`` NewListWatchFromClient, NewFilteredListWatchFromClient.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.structs import replace

from clientgo.cache import NotServedError, WatchStream
from clientgo.client.resource_client import ResourceClient
from clientgo.meta import ListOptions, ObjectList
from clientgo.util.copies import uncopyable

Tweak: TypeAlias = Callable[[ListOptions], ListOptions]
"""Returns changed options (they are immutable), as ``msgspec.structs.replace`` makes them."""


@uncopyable("it has connections to a server; make one in each process")
class ResourceListWatch:
    """Lists and watches one kind of object in one namespace, or with ``""`` in all.

    ``tweak`` changes the options of every list and watch, as to select by label;
    ``supports_watch_list`` False says that this server cannot stream an initial list.
    """

    __slots__ = ("_client", "_tweak", "supports_watch_list")

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
        self.supports_watch_list = supports_watch_list

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        return self._client.list(self._tweaked(options), stop=stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        return self._client.watch(self._tweaked(options), stop=stop)

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        return self._client.why_not_served(stop)

    def _tweaked(self, options: ListOptions) -> ListOptions:
        if self._tweak is None:
            return options
        tweaked = self._tweak(options)
        if not isinstance(tweaked, ListOptions):
            raise TypeError(f"the tweak of the list options returned {tweaked!r}, not ListOptions")
        return tweaked


def selecting(*, labels: str = "", fields: str = "") -> Tweak:
    """A tweak that selects objects by labels, by fields, or both."""

    def tweak(options: ListOptions) -> ListOptions:
        return replace(options, label_selector=labels, field_selector=fields)

    return tweak
