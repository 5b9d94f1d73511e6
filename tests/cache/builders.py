"""Objects for the tests of the cache."""

from __future__ import annotations

from typing import Any

from clientgo.meta import Model, ObjectMeta, Resource, resource


class FooSpec(Model):
    replicas: int = 1


@resource(group="example.com", version="v1", plural="foos")
class Foo(Resource):
    spec: FooSpec = FooSpec()


def foo(name: str, rv: int | str = 1, namespace: str = "ns", **metadata: Any) -> Foo:
    """``foo("a", rv=3)`` is ``ns/a`` at resource version 3."""
    return Foo(
        metadata=ObjectMeta(name=name, namespace=namespace, resource_version=str(rv), **metadata)
    )


def ref(obj: Any) -> str:
    """``a@3``: how an object is named in what a test expects."""
    return f"{obj.metadata.name}@{obj.metadata.resource_version}"


def refs(objs: Any) -> list[str]:
    return sorted(map(ref, objs))
