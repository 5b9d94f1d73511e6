"""Tools for testing controllers and for testing clientgo itself.

Names are imported when they are first used (PEP 562), so that a test which needs only the fake
clock does not load an API server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clientgo.testing.fake_client import FakeClient
    from clientgo.testing.fake_clock import AutoClock, FakeClock
    from clientgo.testing.fake_recorder import FakeRecorder
    from clientgo.testing.fake_source import FakeSource
    from clientgo.testing.fakes.actions import Action, Verb
    from clientgo.testing.tracker.object_tracker import ObjectTracker
    from clientgo.testing.tracker.realism import Realism

__all__ = [
    "Action",
    "AutoClock",
    "FakeClient",
    "FakeClock",
    "FakeRecorder",
    "FakeSource",
    "ObjectTracker",
    "Realism",
    "Verb",
]

_HOMES = {
    "Action": "clientgo.testing.fakes.actions",
    "AutoClock": "clientgo.testing.fake_clock",
    "FakeClient": "clientgo.testing.fake_client",
    "FakeClock": "clientgo.testing.fake_clock",
    "FakeRecorder": "clientgo.testing.fake_recorder",
    "FakeSource": "clientgo.testing.fake_source",
    "ObjectTracker": "clientgo.testing.tracker.object_tracker",
    "Realism": "clientgo.testing.tracker.realism",
    "Verb": "clientgo.testing.fakes.actions",
}
"""Where each public name lives."""


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
