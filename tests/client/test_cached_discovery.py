from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from clientgo.client import (
    APIGroup,
    CachedDiscovery,
    Discovered,
    EmptyDiscoveryError,
    ServedResource,
)
from clientgo.client.cached_discovery import is_transient
from clientgo.meta import (
    DecodeError,
    ForbiddenError,
    GroupVersion,
    InternalServerError,
    NotFoundError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from clientgo.rest import (
    ConnectionLostError,
    RequestStoppedError,
    ServerRefusedError,
    TransportTimeoutError,
)
from clientgo.testing import FakeClock

A, B, C = (GroupVersion(name, "v1") for name in "abc")


def served(*versions: GroupVersion) -> dict[GroupVersion, tuple[ServedResource, ...]]:
    return {
        version: (ServedResource(group=version.group, version="v1", kind="Foo", plural="foos"),)
        for version in versions
    }


class ScriptedDiscovery:
    """Serves what it is told and counts how often it is asked."""

    def __init__(
        self, *versions: GroupVersion, failed: Mapping[GroupVersion, Exception] = {}
    ) -> None:
        self.versions = versions
        self.failed = dict(failed)
        self.discoveries = 0
        self.asked: list[GroupVersion] = []

    def discover(self) -> Discovered:
        self.discoveries += 1
        groups = tuple(APIGroup(v.group, (v,), v) for v in (*self.versions, *self.failed))
        return Discovered(groups, served(*self.versions), dict(self.failed))

    def resources(self, version: GroupVersion) -> tuple[ServedResource, ...]:
        self.asked.append(version)
        if version in self.failed:
            raise self.failed[version]
        return served(version)[version]


def test_it_asks_on_first_use_and_then_remembers():
    """DSC-05."""
    server = ScriptedDiscovery(A, B)
    cache = CachedDiscovery(server)
    assert not cache.fresh
    assert server.discoveries == 0

    assert cache.resources(A)[0].plural == "foos"
    assert [group.name for group in cache.groups()] == ["a", "b"]
    cache.resources(B)

    assert cache.fresh
    assert server.discoveries == 1


def test_invalidate_forgets_everything():
    """DSC-05."""
    server = ScriptedDiscovery(A)
    cache = CachedDiscovery(server)
    cache.groups()

    cache.invalidate()

    assert not cache.fresh
    cache.groups()
    assert server.discoveries == 2


def test_a_version_that_is_not_known_is_looked_for_anew_but_not_all_the_time():
    """DSC-05, with the pitfall avoided: a new CRD is found, a wrong name is no storm."""
    server, clock = ScriptedDiscovery(A), FakeClock()
    cache = CachedDiscovery(server, now=clock.monotonic)
    clock.step(1.0)
    for _ in range(5):
        with pytest.raises(NotFoundError, match="install its CRD"):
            cache.resources(B)
    assert server.discoveries == 1

    server.versions = (A, B)
    clock.step(29.9)
    with pytest.raises(NotFoundError):
        cache.resources(B)
    clock.step(0.1)
    assert cache.resources(B)
    assert server.discoveries == 2

    clock.step(60.0)
    cache.resources(A)
    assert server.discoveries == 2


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ServerRefusedError("GET", "/", "x"), True),
        (ConnectionLostError("GET", "/", "x"), True),
        (TransportTimeoutError("GET", "/", "x"), True),
        (RequestStoppedError("GET", "/", "x"), True),
        (InternalServerError.of("x"), True),
        (ServiceUnavailableError.of("x"), True),
        (TooManyRequestsError.of("x"), True),
        (ForbiddenError.of("x"), False),
        (NotFoundError.of("x"), False),
        (DecodeError("x"), True),
    ],
)
def test_passing_errors_are_told_from_lasting_ones(error, transient):
    """DSC-05."""
    assert is_transient(error) is transient


def test_a_passing_failure_is_asked_for_again_when_it_is_needed():
    """DSC-05."""
    server = ScriptedDiscovery(A, failed={B: ServiceUnavailableError.of("down")})
    cache = CachedDiscovery(server)
    with pytest.raises(ServiceUnavailableError):
        cache.resources(B)
    assert server.asked == [B]

    server.failed = {}
    assert cache.resources(B)
    assert cache.resources(B)
    assert server.asked == [B, B]
    assert cache.discover().error is None


def test_a_lasting_failure_is_kept():
    """DSC-05."""
    server = ScriptedDiscovery(A, failed={B: ForbiddenError.of("no")})
    cache = CachedDiscovery(server)

    for _ in range(3):
        with pytest.raises(ForbiddenError):
            cache.resources(B)
    assert server.asked == []


def test_an_empty_answer_is_an_error_and_not_remembered():
    """DSC-05."""
    server = ScriptedDiscovery()
    cache = CachedDiscovery(server)

    with pytest.raises(EmptyDiscoveryError):
        cache.discover()
    assert not cache.fresh


def test_an_error_of_the_discovery_is_not_remembered():
    """DSC-05: a cancelled fill is tried again."""
    server = ScriptedDiscovery(A)
    failures = [RequestStoppedError("GET", "/", "x")]
    discover = server.discover
    server.discover = lambda: discover() if not failures else (_ for _ in ()).throw(failures.pop())  # type: ignore[method-assign]
    cache = CachedDiscovery(server)

    with pytest.raises(RequestStoppedError):
        cache.groups()
    assert cache.groups()


def test_threads_share_one_discovery():
    server = ScriptedDiscovery(A)
    cache = CachedDiscovery(server)
    threads = [threading.Thread(target=cache.resources, args=(A,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert server.discoveries == 1
