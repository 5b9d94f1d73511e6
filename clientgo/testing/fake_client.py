"""A client without a server: it records requests and answers from objects in memory.

Promises to be a :class:`~clientgo.client.Client`: controllers, informer factories and event sinks
accept it. Every request is recorded first. Then reactors are called in order; the last one, unless
a test adds others, is the tracker that holds the objects.

Does not promise to be an API server, see :class:`Realism` and ``docs/testing/index.md``. It does
not stream initial lists: informers list and watch.

Upstream: client-go ``kubernetes/fake``, ``dynamic/fake``, ``metadata/fake`` and ``testing`` Fake.
Differs in that there is no second client: the real one works on a transport without a network.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

from clientgo.client import Client
from clientgo.meta import InvalidError
from clientgo.rest import RestConfig
from clientgo.testing.fake_clock import AutoClock
from clientgo.testing.fakes.actions import ANY, Action
from clientgo.testing.fakes.fake_discovery import FakeDiscovery
from clientgo.testing.fakes.fake_transport import FakeTransport
from clientgo.testing.fakes.object_reaction import ObjectReaction
from clientgo.testing.fakes.reactors import Reactor, Reactors
from clientgo.testing.tracker.object_tracker import ObjectTracker
from clientgo.testing.tracker.realism import Realism
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class FakeClient(Client):
    """A client whose objects are in memory; thread-safe.

    ::

        client = FakeClient(foo)
        client.prepend_reactor("create", "deployments", refuse)
        controller = Controller(client, SharedInformerFactory(client), FakeRecorder())
        ...
        assert [str(action) for action in client.actions()] == ["create deployments default/web"]

    ``objects`` are there from the beginning; lists are taken apart. ``tracker`` holds them: what a
    test does to it is no action, but watches see it. ``served`` is what discovery answers.
    ``realism`` switches on some of what a server does; ``clock`` is the wall clock of that.
    """

    def __init__(
        self,
        *objects: Any,
        realism: Realism = Realism.NONE,
        field_manager: str = "",
        clock: Clock = REAL_CLOCK,
    ) -> None:
        super().__init__(
            # No rate limit, and retries that do not pause.
            RestConfig(server="http://fake", clock=AutoClock()),
            field_manager=field_manager,
            transport=FakeTransport(self._react),
        )
        self._actions_lock = threading.Lock()
        self._actions: list[Action] = []
        self._reactors = Reactors()
        self.tracker = ObjectTracker(realism, clock=clock)
        self.tracker.add(*objects)
        self.served = FakeDiscovery()
        self._reactors.add(ANY, ANY, self.served)
        self._reactors.add(ANY, ANY, ObjectReaction(self.tracker))

    def actions(self) -> list[Action]:
        """What has been asked so far, in order."""
        with self._actions_lock:
            return list(self._actions)

    def clear_actions(self) -> None:
        """Clear the recorded actions."""
        with self._actions_lock:
            self._actions.clear()

    def add_reactor(self, verb: str, resource: str, reactor: Reactor) -> None:
        """Ask ``reactor`` about these actions, after all others and so after the tracker.

        ``verb`` and ``resource`` are those of :meth:`Action.matches`.
        """
        self._reactors.add(verb, resource, reactor)

    def prepend_reactor(self, verb: str, resource: str, reactor: Reactor) -> None:
        """Ask ``reactor`` about these actions, before all others and so instead of the tracker."""
        self._reactors.prepend(verb, resource, reactor)

    def _react(self, action: Action) -> Any:
        with self._actions_lock:
            self._actions.append(copy.deepcopy(action))
        if "sendInitialEvents" in action.options:
            raise InvalidError.of("sendInitialEvents: this fake streams no lists; list and watch")
        return self._reactors.react(action)
