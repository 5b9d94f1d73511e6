"""Objects for the tests of the fakes."""

from __future__ import annotations

from typing import Any

from clientgo.meta import APIResource, GroupVersionResource, Model, ObjectMeta, Resource, resource


class FooSpec(Model):
    replicas: int = 1


class FooStatus(Model):
    ready: int = 0


@resource(group="example.com", version="v1", plural="foos")
class Foo(Resource):
    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()


FOOS = GroupVersionResource("example.com", "v1", "foos")
PODS = GroupVersionResource("", "v1", "pods")
DYNAMIC_PODS = APIResource(version="v1", kind="Pod", plural="pods")


def foo(name: str, replicas: int = 1, namespace: str = "ns", **metadata: Any) -> Foo:
    return Foo(
        metadata=ObjectMeta(name=name, namespace=namespace, **metadata),
        spec=FooSpec(replicas=replicas),
    )


def pod(name: str = "p", namespace: str = "ns", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def told(events: Any) -> list[str]:
    """Events as ``ADDED a``, in order."""
    return [f"{event.type} {event.object['metadata']['name']}" for event in events]
