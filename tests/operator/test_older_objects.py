"""Objects that were stored before their definition got the rules that their class has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.codegen.crd import definitions_of
from clientgo.meta import Model, ObjectMeta, Resource, misfits, resource
from clientgo.operator import Context, Result
from tests.operator.world import World


class OldSpec(Model):
    mode: str = ""
    size: int = 0


class Status(Model):
    seen: list[str] = []


@resource(group="example.com", version="v1", plural="books", kind="Book")
class OldBook(Resource):
    """The kind as an older release declares it."""

    spec: OldSpec = OldSpec()
    status: Status | None = None


class NewSpec(Model):
    mode: Literal["paper", "screen"]
    size: Annotated[int, Meta(ge=1)]
    title: str


@resource(group="example.com", version="v1", plural="books")
class Book(Resource):
    spec: NewSpec
    status: Status | None = None


class Reader:
    """Reads all of an object, writes its status, and cleans up after it."""

    def __init__(self) -> None:
        self.cleaned: list[Any] = []

    def reconcile(self, ctx: Context[Book], book: Book) -> Result:
        spec = book.spec
        book.status = Status(seen=[spec.mode, str(spec.size), str(spec.title), *misfits(book)])
        return Result.status(book)

    def cleanup(self, ctx: Context[Book], book: Book) -> None:
        self.cleaned.append(book.spec.mode)


def test_an_object_that_is_older_than_its_class_is_reconciled_and_cleaned_up(
    make_world: Callable[..., World],
) -> None:
    """FIELD-13: the server keeps what it has accepted, so the typed controller reads it."""
    world = make_world(kinds=(OldBook,))
    old = OldBook(metadata=ObjectMeta(name="a", namespace="default"), spec=OldSpec(mode="clay"))
    world.create(old)
    (definition,) = definitions_of((Book,))
    definitions = world.client.resource(CustomResourceDefinition)
    definitions.patch("books.example.com", {"spec": definition["spec"]})
    reader = Reader()
    world.manager.controller(Book).build(reader)
    with world.running():
        world.clock.wait_for(lambda: world.get(OldBook).status is not None)
        assert world.get(OldBook).status.seen == [
            "clay",
            "0",
            "None",
            "spec.mode: Invalid enum value 'clay'",
            "spec.size: Expected `int` >= 1",
            "spec.title: required, and missing",
        ]
        world.delete(world.get(OldBook))
        world.clock.wait_for(lambda: not world.client.resource(OldBook).list().items)
    assert reader.cleaned == ["clay"]
