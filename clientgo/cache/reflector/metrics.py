"""What a reflector reports: lists, watches, events, and how far it has come.

Promises client-go's metric names, labelled by resource, and that the series end with their
reflector. Differs from client-go, where these metrics exist but nothing has fed them since their
labels, generated names, lived for ever.
"""

from __future__ import annotations

from clientgo.cache.store.resource_versions import gauge_value
from clientgo.metrics import MetricsProvider, names


class ReflectorMetrics:
    """The instruments of one reflector; has one user."""

    def __init__(self, provider: MetricsProvider, resource: str) -> None:
        self._lists = provider.counter(names.REFLECTOR_LISTS, name=resource)
        self._list_duration = provider.summary(names.REFLECTOR_LIST_DURATION, name=resource)
        self._items = provider.summary(names.REFLECTOR_ITEMS_PER_LIST, name=resource)
        self._watches = provider.counter(names.REFLECTOR_WATCHES, name=resource)
        self._short_watches = provider.counter(names.REFLECTOR_SHORT_WATCHES, name=resource)
        self._watch_duration = provider.summary(names.REFLECTOR_WATCH_DURATION, name=resource)
        self._events = provider.summary(names.REFLECTOR_ITEMS_PER_WATCH, name=resource)
        self._version = provider.gauge(names.REFLECTOR_LAST_RESOURCE_VERSION, name=resource)

    def listed(self, seconds: float, items: int) -> None:
        """A list ended well."""
        self._lists.inc()
        self._list_duration.observe(seconds)
        self._items.observe(items)

    def watched(self, seconds: float, events: int, *, short: bool) -> None:
        """A watch ended."""
        self._watches.inc()
        self._watch_duration.observe(seconds)
        self._events.observe(events)
        if short:
            self._short_watches.inc()

    def reached(self, version: str) -> None:
        """The store has been told everything up to a version."""
        number = gauge_value(version)
        if number is not None:
            self._version.set(number)

    def remove(self) -> None:
        """End the series."""
        for instrument in (
            self._lists,
            self._list_duration,
            self._items,
            self._watches,
            self._short_watches,
            self._watch_duration,
            self._events,
            self._version,
        ):
            instrument.remove()
