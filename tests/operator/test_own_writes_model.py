"""Reads over a watch that lags, against a model of the cluster that does not."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.meta import ObjectName
from clientgo.operator.cache.own_writes import TIME_TO_LIVE, OwnWrites
from clientgo.testing import FakeClock
from tests.operator.world import Part, part

NAMES = ("p", "q")
names = st.sampled_from(NAMES)


class OwnWritesModel(RuleBasedStateMachine):
    """Two writers change two objects: this process, whose answers may come late, and others. The
    store follows the history of the cluster, one version at a time or by a list."""

    restarts = 0

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock(start=1.0)
        self.history: list[dict[str, Part]] = [{}]
        """What the cluster was like at each version."""
        self.store_version = 0
        self.writes = OwnWrites("parts", self, clock=self.clock)
        self.late: list[Part] = []
        self.acknowledged: dict[str, int] = {}
        """The version of the last write to each name that has been answered."""
        self.expected_gone: set[str] = set()
        """The uids that this process has deleted."""

    # The store

    def as_of(self, _namespace: str) -> int:
        return self.store_version

    def stored(self, key: ObjectName) -> Any | None:
        return self.history[self.store_version].get(key.name)

    # What happens

    def _write(self, name: str, obj: Part | None) -> None:
        now = dict(self.history[-1])
        now.pop(name, None)
        if obj is not None:
            now[name] = obj
        self.history.append(now)

    def _next(self, name: str) -> Part:
        there, version = self.history[-1].get(name), len(self.history)
        uid = there.metadata.uid if there is not None else f"{name}-{version}"
        return part(name, uid=uid, resource_version=str(version))

    def _acknowledge(self, obj: Part) -> None:
        self.writes.wrote(obj, "me")
        name, version = obj.metadata.name, int(obj.metadata.resource_version)
        self.acknowledged[name] = max(version, self.acknowledged.get(name, 0))

    @rule(name=names)
    def write(self, name: str) -> None:
        obj = self._next(name)
        self._write(name, obj)
        self._acknowledge(obj)

    @rule(name=names)
    def write_with_a_late_answer(self, name: str) -> None:
        obj = self._next(name)
        self._write(name, obj)
        self.late.append(obj)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        obj = data.draw(st.sampled_from(self.late))
        self.late.remove(obj)
        self._acknowledge(obj)

    @rule(name=names, dated=st.booleans())
    def delete(self, name: str, dated: bool) -> None:
        """OP-CLI-06a: with the version of the deletion, or without."""
        there = self.history[-1].get(name)
        if there is not None:
            self._write(name, None)
            self.writes.deleted(there, str(len(self.history) - 1) if dated else "")
            self.expected_gone.add(there.metadata.uid)

    @rule(name=names)
    def somebody_else_writes(self, name: str) -> None:
        self._write(name, self._next(name))

    @rule(name=names)
    def somebody_else_deletes(self, name: str) -> None:
        if name in self.history[-1]:
            self._write(name, None)

    @precondition(lambda self: self.store_version < len(self.history) - 1)
    @rule()
    def the_watch_brings_an_event(self) -> None:
        before = self.history[self.store_version]
        self.store_version += 1
        after = self.history[self.store_version]
        for name in NAMES:
            if before.get(name) is not after.get(name):
                self.writes.saw(after.get(name) or before[name])

    @rule()
    def a_list_comes(self) -> None:
        self.store_version = len(self.history) - 1

    # What must hold

    def _newest(self, name: str) -> Part | None:
        found: Part | None = self.writes.newest(ObjectName("default", name))
        return found

    @invariant()
    def reads_are_never_behind_an_acknowledged_write(self) -> None:
        for name, version in self.acknowledged.items():
            found = self._newest(name)
            gone_since = any(name not in state for state in self.history[version:])
            if found is not None:
                assert int(found.metadata.resource_version) >= version
            else:
                assert gone_since, f"{name} was written at {version} and is not read"

    @invariant()
    def what_was_deleted_here_never_comes_back(self) -> None:
        for name in NAMES:
            found = self._newest(name)
            assert found is None or found.metadata.uid not in self.expected_gone

    @invariant()
    def nothing_is_read_that_never_was(self) -> None:
        for name in NAMES:
            found = self._newest(name)
            if found is not None:
                version = int(found.metadata.resource_version)
                assert self.history[version][name] is found

    @invariant()
    def once_the_store_is_there_it_answers(self) -> None:
        if self.store_version == len(self.history) - 1:
            for name in NAMES:
                assert self._newest(name) is self.history[-1].get(name)
            assert self.writes.keys() == []

    def teardown(self) -> None:
        self.clock.step(TIME_TO_LIVE)
        statistics = self.writes.statistics()
        assert (statistics.entries, statistics.echoes) == (0, 0), "nothing stays for ever"


OwnWritesModel.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


class TestOwnWritesModel(OwnWritesModel.TestCase):  # type: ignore[misc, valid-type]
    """OP-CLI-06, OP-SRC-17"""
