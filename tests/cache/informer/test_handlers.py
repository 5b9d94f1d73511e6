"""Event handlers and their adapters."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clientgo.cache import (
    DeletedFinalStateUnknown,
    FilteringHandler,
    HandlerFuncs,
    ResourceEventHandler,
    last_known_state,
)
from clientgo.cache.informer.handlers import handler_name
from tests.cache.builders import Foo, foo
from tests.cache.running import RecordingHandler


def labelled(obj: Foo) -> bool:
    return obj.metadata.labels.get("app") == "web"


def web(name: str, rv: int = 1) -> Foo:
    return foo(name, rv, labels={"app": "web"})


class TestTheBase:
    def test_does_nothing(self) -> None:
        """EVH-01."""
        handler: ResourceEventHandler[Foo] = ResourceEventHandler()
        handler.on_add(foo("a"), True)
        handler.on_update(foo("a"), foo("a", 2))
        handler.on_delete(foo("a"))

    def test_takes_a_resync_for_an_update(self) -> None:
        """FIELD-11."""
        recorder = RecordingHandler()
        recorder.on_resync(foo("a"), foo("a"))
        assert recorder.notes == ["a@1→a@1"]


class TestFunctions:
    def test_are_called_and_those_left_out_are_not_missed(self) -> None:
        """EVH-02."""
        seen: list[object] = []
        handler: HandlerFuncs[Foo] = HandlerFuncs(on_add=seen.append)
        a = foo("a")
        handler.on_add(a, True)
        handler.on_update(a, a)
        handler.on_delete(a)
        assert seen == [a]

    def test_can_tell_a_resync_from_an_update(self) -> None:
        """FIELD-11."""
        calls: list[str] = []

        def note(kind: str) -> Callable[[Foo, Foo], None]:
            return lambda old, new: calls.append(kind)

        a = foo("a")
        handler: HandlerFuncs[Foo]
        for handler in (
            HandlerFuncs(on_update=note("update"), on_resync=note("resync")),
            HandlerFuncs(on_update=note("either")),
            HandlerFuncs(on_add=lambda _: None),
        ):
            handler.on_update(a, foo("a", 2))
            handler.on_resync(a, a)
        assert calls == ["update", "resync", "either", "either"]

    def test_may_be_any_of_the_three(self) -> None:
        """EVH-02."""
        updated: list[tuple[object, object]] = []
        deleted: list[object] = []
        handler: HandlerFuncs[Foo] = HandlerFuncs(
            on_update=lambda old, new: updated.append((old, new)), on_delete=deleted.append
        )
        a, b = foo("a", 1), foo("a", 2)
        handler.on_add(a, False)
        handler.on_update(a, b)
        handler.on_delete(b)
        assert (updated, deleted) == ([(a, b)], [b])


class TestAHandlerClass:
    def test_does_nothing_but_what_it_overrides_and_learns_what_is_initial(self) -> None:
        """EVH-02."""
        seen: list[tuple[object, bool]] = []

        class Adds(ResourceEventHandler[Foo]):
            def on_add(self, obj: Foo, is_in_initial_list: bool) -> None:
                seen.append((obj, is_in_initial_list))

        handler, a = Adds(), foo("a")
        handler.on_add(a, True)
        handler.on_update(a, a)
        handler.on_delete(a)
        assert seen == [(a, True)]


class TestAFilter:
    def test_passes_on_resyncs_of_what_it_accepts(self) -> None:
        """FIELD-11."""
        resynced: list[Foo] = []
        inner: HandlerFuncs[Foo] = HandlerFuncs(on_resync=lambda _, new: resynced.append(new))
        accepted, refused = web("a"), foo("b")
        FilteringHandler(labelled, inner).on_resync(accepted, accepted)
        FilteringHandler(labelled, inner).on_resync(refused, refused)
        assert resynced == [accepted]

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            (foo("a", 1), foo("a", 2), []),
            (foo("a", 1), web("a", 2), ["+a@2"]),
            (web("a", 1), foo("a", 2), ["-a@1"]),
            (web("a", 1), web("a", 2), ["a@1→a@2"]),
        ],
    )
    def test_turns_updates_into_what_they_are_to_it(
        self, old: Foo, new: Foo, expected: list[str]
    ) -> None:
        """EVH-03."""
        recorder = RecordingHandler()
        FilteringHandler(labelled, recorder).on_update(old, new)
        assert recorder.notes == expected

    def test_keeps_the_flag_of_the_initial_list(self) -> None:
        """EVH-03."""
        recorder = RecordingHandler()
        FilteringHandler(labelled, recorder).on_add(web("a"), True)
        FilteringHandler(labelled, recorder).on_add(foo("b"), True)
        assert recorder.notes == ["+a@1!"]

    def test_judges_a_tombstone_by_its_object(self) -> None:
        """EVH-04."""
        recorder = RecordingHandler()
        handler = FilteringHandler(labelled, recorder)
        handler.on_delete(DeletedFinalStateUnknown("ns/a", web("a")))
        handler.on_delete(DeletedFinalStateUnknown("ns/b", foo("b")))
        assert recorder.notes == ["†a@1"]

    def test_lets_a_tombstone_without_an_object_pass(self) -> None:
        """EVH-04: the object may have been accepted once."""
        seen: list[object] = []
        gone = DeletedFinalStateUnknown("ns/a", None)
        FilteringHandler(labelled, HandlerFuncs(on_delete=seen.append)).on_delete(gone)
        assert seen == [gone]


def test_the_last_known_state_is_the_object_or_what_its_tombstone_holds() -> None:
    """EVH-05."""
    a = foo("a")
    assert last_known_state(a) is a
    assert last_known_state(DeletedFinalStateUnknown("ns/a", a)) is a
    assert last_known_state(DeletedFinalStateUnknown("ns/a", None)) is None


class Controller:
    def add(self, obj: Foo) -> None: ...

    def delete(self, obj: object) -> None: ...


class Unspeakable:
    def __str__(self) -> str:
        raise ValueError


class TestNames:
    def test_are_the_common_qualifier_of_the_functions(self) -> None:
        """EVH-07."""
        methods = Controller()
        handler = HandlerFuncs(on_add=methods.add, on_delete=methods.delete)
        assert handler_name(handler) == "Controller"

    def test_or_all_their_names(self) -> None:
        """EVH-07."""
        assert handler_name(HandlerFuncs(on_add=labelled, on_delete=print)) == "labelled+print"

    def test_of_a_filter_is_that_of_its_handler(self) -> None:
        """EVH-07."""
        assert handler_name(FilteringHandler(labelled, HandlerFuncs(on_add=labelled))) == "labelled"

    def test_of_any_other_is_its_class_and_making_it_never_fails(self) -> None:
        """EVH-07."""
        assert handler_name(RecordingHandler()) == "RecordingHandler"
        assert handler_name(Unspeakable()) == "Unspeakable"
