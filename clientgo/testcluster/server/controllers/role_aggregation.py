"""The controller of aggregated cluster roles: their rules are those of the roles that they select.

Promises: soon after a cluster role was written, every role whose aggregationRule selects it has its
rules. A write that is refused, by a webhook for example, is tried again, after longer and longer
delays.

Upstream: ``pkg/controller/clusterroleaggregation``.
"""

from __future__ import annotations

import logging
from typing import Any

from clientgo.meta.selectors import Selector, SelectorError, selector_from_object
from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.controllers.background import BackgroundWork
from clientgo.testcluster.server.objects.options import FieldValidation, WriteOptions
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.storing import Target
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.resources.errors import FailedRequestError
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Change, Collection, Object

LOG = logging.getLogger("clientgo.testcluster.server")

_OPTIONS = WriteOptions(
    field_manager="clusterrole-aggregation-controller", field_validation=FieldValidation.IGNORE
)


class RoleAggregationController:
    """Follows the cluster roles."""

    def __init__(
        self, state: State, writer: ObjectWriter, work: BackgroundWork, resource: Resource
    ) -> None:
        """Follow the cluster roles, which are served as ``resource``."""
        self._resource = resource
        self._writer = writer
        self._work = work
        self._collection = state.storage.collection(resource.collection_key)
        self._aggregated: dict[str, list[Selector]] = {}
        """What each role with an aggregationRule selects."""
        self._is_due = False
        self._is_running = False
        self._written = ""
        """The role that is being written."""
        self._rounds = 0
        """Rounds of writes without a pause, since another client changed a role."""
        state.storage.observe(self._observe, resource.collection_key)

    def _observe(self, _: Collection, change: Change) -> None:
        name = change.current.key
        self._aggregated.pop(name, None)
        if change.type is not EventType.DELETED and b'"aggregationRule"' in change.current.raw:
            selectors = _selectors(change.current.decode())
            if selectors:
                self._aggregated[name] = selectors
        if name != self._written:
            self._rounds = 0
            self._start()

    def _start(self) -> None:
        self._is_due = bool(self._aggregated)
        if self._is_due and not self._is_running:
            self._is_running = True
            self._work.start(self._sync())

    async def _sync(self) -> None:
        """Write the rules of every aggregated role that has others; look again after a write."""
        self._is_due = False
        try:
            has_written, was_refused = await self._write()
        finally:
            self._is_running = False
        self._rounds = self._rounds + 1 if has_written else 0
        if was_refused or self._rounds > len(self._aggregated):
            # Roles that select each other may never agree on the order of their rules, or pass
            # them round without end.
            self._work.retry(self._look_again)
        else:
            self._work.forget(self._look_again)
            self._is_due = self._is_due or has_written
        if self._is_due:
            self._start()

    async def _look_again(self) -> None:
        self._start()

    async def _write(self) -> tuple[bool, bool]:
        """Write rules; return whether a role was written, and whether a write was refused."""
        has_written = was_refused = False
        for name, selectors in list(self._aggregated.items()):
            rules = self._rules(name, selectors)
            stored = self._collection.get(name)
            if stored is None or (stored.decode().get("rules") or []) == rules:
                continue
            self._written = name
            try:
                await self._writer.update(
                    Target(self._resource, "", name), _with_rules(rules), _OPTIONS
                )
                has_written = True
            except FailedRequestError as error:
                LOG.info("cluster role %s keeps its rules: %s", name, error)
                was_refused = True
            finally:
                self._written = ""
        return has_written, was_refused

    def _rules(self, name: str, selectors: list[Selector]) -> list[Any]:
        """Return the rules of the selected roles, by name, each once."""
        rules: list[Any] = []
        for selector in selectors:
            for stored in self._collection.scan():
                if stored.key == name or not selector.matches(stored.labels):
                    continue
                found = stored.decode().get("rules") or ()
                rules += [rule for rule in found if rule not in rules]
        return rules


def _with_rules(rules: list[Any]) -> Any:
    def change(role: Object) -> Object:
        role["rules"] = rules
        return role

    return change


def _selectors(role: Object) -> list[Selector]:
    found = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        try:
            found.append(selector_from_object(selector))
        except SelectorError:
            continue  # validation lets none of these through
    return found
