"""Reactors: functions that answer the actions of a fake client.

Promises: reactors are called in order, and the first answer counts; all of them, for one action,
get the same copy of it, so that a change that one makes to its body is seen by the next; no lock is
held while they run, so that a reactor may use the client that it serves.

Differs from client-go (``testing`` Fake), where a reactor returns three values and an action that
no reactor answers succeeds with an empty object: here a reactor answers, raises or returns None,
and an action that no reactor answers is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from clientgo.testing.fakes.actions import Action, Verb
from clientgo.util.copies import CopyableError

Reactor: TypeAlias = Callable[[Action], Any]
"""Answers an action with what the server would: an object (of any kind that the library takes), a
sequence of objects for a list, a :class:`~clientgo.cache.WatchStream` for a watch, a
:class:`~clientgo.meta.Status`. None leaves the action to the next reactor. Whatever it raises is
raised to the caller of the client."""


class UnhandledActionError(CopyableError):
    """No reactor answered an action."""


class Reactors:
    """An ordered list of reactors, each with what it is for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: tuple[_Rule, ...] = ()

    def add(self, verb: str, resource: str, reactor: Reactor) -> None:
        """Ask ``reactor``, after all others, about what :meth:`Action.matches` these.

        Raises ValueError for a verb that no action has.
        """
        with self._lock:
            self._rules = (*self._rules, _Rule(_checked(verb), resource, reactor))

    def prepend(self, verb: str, resource: str, reactor: Reactor) -> None:
        """Ask ``reactor``, before all others, about what :meth:`Action.matches` these.

        Raises ValueError for a verb that no action has.
        """
        with self._lock:
            self._rules = (_Rule(_checked(verb), resource, reactor), *self._rules)

    def react(self, action: Action) -> Any:
        """The answer of the first reactor that has one.

        Raises what that reactor raises, :class:`UnhandledActionError` if there is none.
        """
        for rule in self._rules:
            if action.matches(rule.verb, rule.resource):
                answer = rule.reactor(action)
                if answer is not None:
                    return answer
        raise UnhandledActionError(f"no reactor answers {action}; prepend one that does")


def _checked(verb: str) -> str:
    """Refuse a verb that no action has, and whose reactor would never be asked."""
    if verb != "*" and verb not in list(Verb):
        raise ValueError(
            f"no action has the verb {verb!r}: write '*' or one of {', '.join(Verb)}; "
            "an apply is a patch"
        )
    return verb


class _Rule(NamedTuple):
    verb: str
    resource: str
    reactor: Reactor
