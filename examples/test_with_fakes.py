"""Unit tests of a sync function: no server, no threads, nothing to wait for.

Run them with pytest::

    python -m pytest examples/test_with_fakes.py

What the fakes do not do is listed in docs/testing/index.md, beside what the embedded server does.
"""

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import Lister
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory
from clientgo.meta import NotFoundError, ObjectMeta, ObjectName, TooManyRequestsError
from clientgo.record import NORMAL, EventRecorder
from clientgo.testing import Action, FakeClient, FakeRecorder

NAME = ObjectName("default", "a")


def greet(
    name: ObjectName, lister: Lister[ConfigMap], client: Client, recorder: EventRecorder
) -> None:
    """What is tested: greets a ConfigMap that has not been greeted."""
    try:
        config_map = lister.namespace(name.namespace).get(name.name)
    except NotFoundError:
        return
    if "hello" not in (config_map.data or {}):
        config_maps = client.resource(ConfigMap).namespace(name.namespace)
        config_maps.patch(name.name, {"data": {"hello": "world"}})
        recorder.event(config_map, NORMAL, "Greeted", "it says hello now")


class World:
    """The objects that there are, in the cache as well as on the fake server."""

    def __init__(self, *objects: ConfigMap) -> None:
        self.client = FakeClient(*objects)
        self.recorder = FakeRecorder()
        factory = SharedInformerFactory(self.client)
        self.lister = factory.lister_for(ConfigMap)
        for obj in objects:
            factory.informer_for(ConfigMap).indexer.add(obj)

    def greet(self) -> list[str]:
        """Call what is tested; what it asked of the API."""
        greet(NAME, self.lister, self.client, self.recorder)
        return [str(action) for action in self.client.actions()]


def config_map(**data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data=data)


def test_who_was_not_greeted_is() -> None:
    world = World(config_map())

    assert world.greet() == ["patch configmaps default/a"]
    assert world.client.resource(ConfigMap).namespace("default").get("a").data == {"hello": "world"}
    assert world.recorder.lines() == ["Normal Greeted it says hello now"]


def test_who_was_greeted_is_left_alone() -> None:
    assert World(config_map(hello="you")).greet() == []


def test_who_is_gone_needs_no_greeting() -> None:
    assert World().greet() == []


def test_a_refusal_is_raised_so_that_the_key_is_tried_again() -> None:
    world = World(config_map())

    def refuse(_: Action) -> None:
        raise TooManyRequestsError.of("not now")

    world.client.prepend_reactor("patch", "configmaps", refuse)
    with pytest.raises(TooManyRequestsError):
        world.greet()
    assert world.recorder.lines() == []
