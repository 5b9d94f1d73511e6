"""The passes of an object that lives, of one that is gone, and of a key.

    finalizer on ──► validate ──► initialise ──► reconcile ──► write ──► succeeded

Promises that ``reconcile`` gets only objects that are valid, initialised and not being deleted. A
pass that wrote the finalizer or an initialisation ends there and another follows immediately.

Source: controller-runtime and Java Operator SDK (ReconciliationDispatcher), Red Hat's operator best
practices.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Final

from clientgo.meta import (
    DecodeError,
    ObjectName,
    StatusError,
    deep_copy,
    is_conflict,
    metadata_of,
)
from clientgo.operator.client.object_writes import add_finalizers_now, write_result, write_status
from clientgo.operator.controller.failures import STATUS_RETRY, InvalidObjectError
from clientgo.operator.controller.passes import Pass
from clientgo.operator.errors import OperatorError, TerminalError, is_gone
from clientgo.operator.finalizers import has_finalizer
from clientgo.operator.result import Result, Write
from clientgo.operator.runs import is_transient
from clientgo.operator.runs.steps import Outcome, UserCode
from clientgo.rest import TransportError

_log = logging.getLogger("clientgo.operator.reconcile")

_WITH_ANNOTATIONS: Final = (Write.RESOURCE, Write.BOTH)

MOST_INITIALISATIONS: Final = 3
"""In a row, for one generation; one more and it is a bug."""


class Reconcile(Pass):
    """The object lives."""

    __slots__ = ()

    def _begin(self) -> UserCode | None:
        parts, shared = self._parts, self._shared
        missing = [name for name in parts.finalizers if not has_finalizer(shared, name)]
        if missing:
            add_finalizers_now(parts.client, shared, missing)
            self._pass_again()
            return None
        self._validate()
        if self._initialised():
            self._pass_again()
            return None
        assert self._shape.reconcile is not None
        return partial(self._shape.reconcile, self._ctx, self._obj)

    def _end(self, outcome: Outcome) -> None:
        result = self._result_of(outcome)
        if result.keeps_finalizer:
            raise TerminalError(
                f"{self._parts.controller}: keep_finalizer() is for results of cleanup"
            )
        self._write(result)
        self._succeed(result)

    def _validate(self) -> None:
        if self._shape.validate is None:
            return
        try:
            answer = self._shape.validate(self._obj, None, None)
            if hasattr(answer, "raise_if_any"):
                answer.raise_if_any()
        except Exception as error:
            if isinstance(error, OperatorError | OSError) or is_transient(error):
                raise  # what it asked did not answer, which says nothing about the object
            raise InvalidObjectError(str(error) or type(error).__name__) from error

    def _initialised(self) -> bool:
        """Return True if the object was initialised now, so that this pass is over."""
        if self._shape.initialise is None:
            return False
        generation = metadata_of(self._shared).generation
        has_changed = self._shape.initialise(self._obj)
        if not isinstance(has_changed, bool):
            raise TerminalError(
                f"{self._parts.controller}: initialise returns True if it changed the object, "
                f"False if not; it returned {has_changed!r:.100}"
            )
        if not has_changed:
            self._run.settled()
            return False
        if self._run.initialised(generation) > MOST_INITIALISATIONS:
            raise TerminalError(
                f"{self._parts.controller}: initialise does not settle: it changed the object "
                f"{MOST_INITIALISATIONS + 1} times in a row; it must return False for what it made"
            )
        written = write_result(self._parts.client, self._shared, Result.resource(self._obj))
        return written is not self._shared

    def _write(self, result: Result) -> None:
        """Write what the result says, with what the framework notes in the status: in one request
        with the reconciler's, or in one of its own, without which the run is no failure."""
        ctx, generation = self._ctx, metadata_of(self._shared).generation
        client, notes, keeper = self._parts.client, self._parts.notes, self._parts.keeper
        writes_status = result.write in (Write.STATUS, Write.BOTH)
        before = self._base_of(result)
        if keeper is not None and not keeper.in_status and result.write in _WITH_ANNOTATIONS:
            keeper.put(ctx.changes, result.obj)
        if writes_status:
            notes.succeeded(ctx, result.obj, generation)
        current = write_result(client, before, result)
        if keeper is not None:
            current = keeper.write(client, ctx.changes, current)
        if writes_status or not notes.applies:
            return
        noted = deep_copy(current)
        notes.succeeded(ctx, noted, generation)
        try:
            write_status(client, current, noted)
        except (DecodeError, StatusError, TransportError) as error:
            if is_gone(error, ctx.key.name):
                _log.debug("%s: is gone, and its status with it", ctx.key)
                return
            level = logging.INFO
            if not is_conflict(error):
                counted = self._failures.share(ctx, error) is None
                level = logging.DEBUG if counted else logging.WARNING
            _log.log(level, "%s: the status of the success was not written: %s", ctx.key, error)
            self._run.again_after(STATUS_RETRY)

    def _base_of(self, result: Result) -> Any:
        """Return what the result is a change of: the object as it was read, unless the reconciler
        wrote it itself since, and went on with what the API server answered."""
        shared = self._shared
        if result.write is Write.NOTHING:
            return shared
        version = metadata_of(result.obj).resource_version
        if version == metadata_of(shared).resource_version:
            return shared
        newest = self._parts.cache.get(ObjectName.of(shared))
        is_base = newest is not None and metadata_of(newest).resource_version == version
        return newest if is_base else shared


class ByKey(Reconcile):
    """A reconciler that is called with the key, whether there is an object or not."""

    __slots__ = ()

    def _begin(self) -> UserCode:
        assert self._shape.reconcile_key is not None
        return partial(self._shape.reconcile_key, self._ctx, self._ctx.key)

    def _end(self, outcome: Outcome) -> None:
        result = self._result_of(outcome)
        if self._shared is not None:
            self._write(result)
        self._succeed(result)


class Deleted(Pass):
    """The object is gone: a controller with ``on_deleted`` runs once more, with its last state."""

    __slots__ = ()

    def _begin(self) -> UserCode:
        assert self._shape.reconcile is not None
        return partial(self._shape.reconcile, self._ctx, self._obj)

    def _end(self, outcome: Outcome) -> None:
        self._succeed(self._result_of(outcome))


class Gone(Pass):
    """The object is gone, and nothing is left to do."""

    __slots__ = ()

    def _begin(self) -> None:
        self._run.gone()
        self.ended = "success"

    def _end(self, outcome: Outcome) -> None:
        raise AssertionError("it has no user code")
