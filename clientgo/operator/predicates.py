"""Predicates: which events run their primaries.

Promises that predicates combine (``&``, ``|``, ``~``), from left to right. One that raises lets the
event pass. Safety timers, retries and triggers do not pass through predicates.

Differs from controller-runtime (``pkg/predicate``) in the default for primaries,
:func:`worth_a_reconcile`, which also passes changes of finalizers and the mark of deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from clientgo.meta import metadata_of, to_plain
from clientgo.operator.change_events import (
    ChangeEvent,
    CreateEvent,
    DeleteEvent,
    GenericEvent,
    UpdateEvent,
)
from clientgo.operator.errors import ConfigError
from clientgo.operator.mappers import field_at
from clientgo.operator.settings.labels import selector_of
from clientgo.util.copies import unpicklable

DEFAULT_FILTER: Final = "worth_a_reconcile"
"""The name of the predicate that controllers have unless they turn it off."""


class Predicate:
    """Decides for each kind of event whether it passes; by default all pass.

    Called in the source's thread; must not block. Source: controller-runtime pkg/predicate.
    """

    def create(self, event: CreateEvent) -> bool:
        return True

    def update(self, event: UpdateEvent) -> bool:
        return True

    def delete(self, event: DeleteEvent) -> bool:
        return True

    def generic(self, event: GenericEvent) -> bool:
        return True

    def passes(self, event: ChangeEvent) -> bool:
        """Ask the method for the kind of event that it is."""
        if type(event) is UpdateEvent:
            return self.update(event)
        if type(event) is CreateEvent:
            return self.create(event)
        if type(event) is DeleteEvent:
            return self.delete(event)
        assert isinstance(event, GenericEvent)
        return self.generic(event)

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __and__(self, other: Predicate) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        both = f"({self!r} & {other!r})"
        return _Passing(lambda event: self.passes(event) and other.passes(event), both)

    def __or__(self, other: Predicate) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        either = f"({self!r} | {other!r})"
        return _Passing(lambda event: self.passes(event) or other.passes(event), either)

    def __invert__(self) -> Predicate:
        return _Passing(lambda event: not self.passes(event), f"~{self!r}")

    @staticmethod
    def of(function: Callable[[Any], bool]) -> Predicate:
        """A predicate that asks a function about the object, in its newest state."""
        name = getattr(function, "__qualname__", "a function")
        return _Passing(lambda event: function(event.obj), f"Predicate.of({name})")


class UpdatePredicate(Predicate):
    """A predicate on updates, made of a function of the old and the new object.

    ``name`` says what passes, as explanations show it.
    """

    def __init__(self, function: Callable[[Any, Any], bool], name: str = "") -> None:
        self._function = function
        self._name = name or getattr(function, "__qualname__", "a function")

    def update(self, event: UpdateEvent) -> bool:
        return self._function(event.old, event.new)

    def __repr__(self) -> str:
        return self._name


@unpicklable("it holds functions; make it in each process")
class _Passing(Predicate):
    """A predicate on events of every kind, made of a function."""

    def __init__(self, passes: Callable[[ChangeEvent], bool], name: str) -> None:
        self._passes = passes
        self._name = name

    def passes(self, event: ChangeEvent) -> bool:
        return self._passes(event)

    def __repr__(self) -> str:
        return self._name


def all_of(*predicates: Predicate) -> Predicate:
    """Passes what all of them pass; everything, if there are none. Raises ``ConfigError``."""
    for each in predicates:
        if not isinstance(each, Predicate):
            raise ConfigError(
                f"{each!r} is no predicate: write Predicate.of(function), or subclass Predicate"
            )
    if len(predicates) == 1:
        return predicates[0]
    names = " & ".join(map(repr, predicates))
    return _Passing(lambda event: all(each.passes(event) for each in predicates), f"({names})")


def _generation_changed(old: Any, new: Any) -> bool:
    return bool(metadata_of(old).generation != metadata_of(new).generation)


generation_changed: Predicate = UpdatePredicate(_generation_changed, "generation_changed")
"""Updates that change the desired state, as the API server counts it."""

resource_version_changed: Predicate = UpdatePredicate(
    lambda old, new: metadata_of(old).resource_version != metadata_of(new).resource_version,
    "resource_version_changed",
)
"""Updates that are changes at all; a resync is none."""

labels_changed: Predicate = UpdatePredicate(
    lambda old, new: metadata_of(old).labels != metadata_of(new).labels, "labels_changed"
)
"""Updates that change labels."""

generation_or_finalizers_changed: Predicate = generation_changed | UpdatePredicate(
    lambda old, new: metadata_of(old).finalizers != metadata_of(new).finalizers,
    "finalizers_changed",
)
"""Updates that change the desired state, or finalizers."""


def worth_a_reconcile(*, minds_finalizers: bool) -> Predicate:
    """The default for primaries, which a status update does not pass.

    An update passes if the generation differs, if there is none, if the object was just marked for
    deletion, or if its finalizers changed and the controller manages one.
    """

    def passes(old: Any, new: Any) -> bool:
        before, after = metadata_of(old), metadata_of(new)
        return bool(
            not after.generation
            or before.generation != after.generation
            or (after.deletion_timestamp and not before.deletion_timestamp)
            or before.uid != after.uid
            or (minds_finalizers and before.finalizers != after.finalizers)
        )

    return UpdatePredicate(passes, DEFAULT_FILTER)


def annotations_changed(*keys: str) -> Predicate:
    """Updates that change annotations: those named, or any."""

    def passes(old: Any, new: Any) -> bool:
        before, after = metadata_of(old).annotations, metadata_of(new).annotations
        if not keys:
            return bool(before != after)
        return any((before or {}).get(key) != (after or {}).get(key) for key in keys)

    return UpdatePredicate(passes, f"annotations_changed({', '.join(map(repr, keys))})")


def label_selector(selector: str | Mapping[str, str]) -> Predicate:
    """Objects with these labels, given as a mapping or in kubectl's form (``"app=web,!canary"``).

    On an update the new state counts. Raises ``ConfigError`` for what selects nothing.
    """
    wanted = selector_of(selector, "label_selector")
    return _Passing(
        lambda event: wanted.matches(metadata_of(event.obj).labels or {}),
        f"label_selector({str(wanted)!r})",
    )


def data_changed(*path: str) -> Predicate:
    """Updates that change the field at a path, as in ``data_changed("data", "tls.crt")``."""

    return UpdatePredicate(
        lambda old, new: field_at(old, path) != field_at(new, path),
        f"data_changed({', '.join(map(repr, path))})",
    )


def type_is(secret_type: str) -> Predicate:
    """Objects whose ``type`` is this one, as Secrets have it (``kubernetes.io/tls``)."""
    return _Passing(
        lambda event: to_plain(event.obj).get("type") == secret_type, f"type_is({secret_type!r})"
    )
