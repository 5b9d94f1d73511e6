"""Make shared informers in tests, and wait for them."""

from __future__ import annotations

import threading
from typing import Any

from clientgo.cache import SharedIndexInformer, wait_for_cache_sync
from clientgo.meta import Status, WatchEvent
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import Foo
from tests.cache.running import TIMEOUT, no_delays

EXPIRED = WatchEvent("ERROR", Status(code=410, reason="Expired"))


def informer_of(source: FakeSource, **options: Any) -> SharedIndexInformer[Foo]:
    return SharedIndexInformer(source, Foo, **({"delays": no_delays()} | options))


def relist(source: FakeSource) -> None:
    """Make the informer list again, as after an expired version."""
    source.expire_history()
    source.send(EXPIRED)


def synced(stop: threading.Event, *what: Any) -> None:
    wait_for_cache_sync(stop, *what, timeout=TIMEOUT).raise_for_unsynced()
