"""What a controller does while its cache does not have its last write yet."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.cache import ConsistencyError, ConsistencyStore, Indexer
from clientgo.informers import SharedInformerFactory
from clientgo.meta import ObjectName
from clientgo.testing import FakeClient, FakeRecorder, Realism
from examples.own_writes import disturbed, result_of
from examples.production_controller.__main__ import ConsistentSyncer
from sample_controller.types import Foo
from tests.sample_controller.test_controller import new_foo


def test_a_sync_that_does_not_wait_for_its_own_write_makes_it_again() -> None:
    """CST-02: what the check is for."""
    report = disturbed(check=False)

    assert result_of(report) == "Secret default/token-(generated) exists once more"


def test_a_sync_that_waits_for_its_own_write_makes_it_once() -> None:
    """CST-02, CST-04: it is tried again until the event of the write has arrived."""
    report = disturbed(check=True)

    report.check()
    assert result_of(report) == "ok"
    assert [str(write) for write in report.writes] == ["create secrets default/(generated)"]


def test_the_production_controller_waits_for_the_deployment_that_it_wrote() -> None:
    """CST-02."""
    foo = new_foo()
    client = FakeClient(foo, realism=Realism.VERSIONS)
    factory = SharedInformerFactory(client)
    factory.informer_for(Foo).indexer.add(client.resource(Foo).namespace("default").get("example"))
    deployments: Indexer[Any] = Indexer()
    deployments.bookmark("0")
    written = ConsistencyStore({Deployment: deployments})
    syncer = ConsistentSyncer(written, client, factory, FakeRecorder())
    name = ObjectName.of(foo)

    syncer.sync(name)

    with pytest.raises(ConsistencyError, match=f"the cache of Deployment .* for {name}"):
        syncer.sync(name)
    deployments.bookmark("1000")
    with pytest.raises(Exception, match="already exists"):  # the lister's cache is another one
        syncer.sync(name)
