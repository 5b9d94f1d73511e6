"""Leadership of a manager: one of several replicas works, the others wait.

Promises that a write which could collide with another leader's is not sent, and that the lease is
released only when nothing that needs it runs any more. Missing permissions are an error of the
start.

Source: controller-runtime pkg/leaderelection; Java Operator SDK LeaderElectionManager.
"""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from collections.abc import Callable
from math import inf
from typing import Any, Final

from clientgo.api.authorization_v1 import (
    ResourceAttributes,
    ResourceRule,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
)
from clientgo.client import Client
from clientgo.leaderelection import (
    Ending,
    LeaderElectionConfig,
    LeaderElector,
    Leadership,
    LeaseLock,
    WorkStillRunningError,
    lease_lock_from_config,
)
from clientgo.meta import DecodeError, StatusError
from clientgo.observe.metrics import MetricsProvider
from clientgo.operator.errors import ConfigError, LeadershipLostError
from clientgo.operator.manager.config import LeaderElection
from clientgo.record import SeriesRecorder
from clientgo.rest import TransportError
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread, join_threads

_log = logging.getLogger("clientgo.operator.manager")


class Leader:
    """One candidate, for one term. Thread-safe.

    ``grace`` is how many seconds the work may take to end at a stop, None for ever.
    """

    def __init__(
        self,
        settings: LeaderElection,
        client: Client,
        recorder: SeriesRecorder,
        metrics: MetricsProvider,
        clock: Clock,
        *,
        grace: float | None,
    ) -> None:
        self.settings = settings
        self.identity = settings.identity or f"{socket.gethostname()}_{uuid.uuid4()}"
        self._client = client
        self._recorder = recorder
        self._metrics = metrics
        self._clock = clock
        self._grace = inf if grace is None else grace
        self._stop = threading.Event()
        self._over = threading.Event()
        self._leadership: Leadership | None = None
        self._elector: LeaderElector | None = None
        self._lock: LeaseLock | None = None
        self._thread: threading.Thread | None = None

    def check_permissions(self) -> None:
        """Raise ``ConfigError`` if the lease cannot be had."""
        check_lease_permissions(self._client, self.settings.namespace, self.settings.id)

    def start(
        self,
        work: Callable[[threading.Event], object],
        lost: Callable[[BaseException | None], object],
    ) -> None:
        """Compete in a thread; ``work(stop)`` is what a leader does. ``lost`` is called when the
        term is over without :meth:`stop`, with what ``work`` raised."""
        elector = LeaderElector(self._config(work), clock=self._clock, metrics=self._metrics)
        self._elector = elector

        def compete() -> None:
            ending, failure = Ending.LOST, None
            try:
                ending = elector.run(self._stop)
            except WorkStillRunningError as error:
                _log.error("%s", error)
                ending = Ending.STOPPED if self._stop.is_set() else Ending.LOST
            except BaseException as error:  # noqa: BLE001 - the manager fails with it
                failure = error
            self._over.set()
            if ending is not Ending.STOPPED:
                lost(failure)

        self._thread = SupervisedThread.started(
            compete,
            name=f"leader-election-{self.settings.id}",
            then="this process does not compete any more; restart it",
        )

    def stop(self, timeout: float | None) -> list[str]:
        """Stop the work, then give up the lease if that is wanted.

        Blocks until both are done, for ``timeout`` seconds at most; returns the names of threads
        that are still alive.
        """
        self._stop.set()
        if self._thread is not None and (alive := join_threads([self._thread], timeout)):
            return alive
        if self._lock is not None:
            self._lock.close()
        return []

    def holder(self) -> str:
        """Return who led when the lease was last seen; empty if that is not known."""
        return "" if self._elector is None else self._elector.get_leader()

    def check(self) -> None:
        """Raise ``LeadershipLostError`` if this process has led, and another may lead now.

        What ends because of a stop may still write: its lease is renewed until it has ended.
        """
        leadership = self._leadership
        if leadership is None:
            return
        taken = leadership.stop.is_set() and not self._stop.is_set()
        if self._over.is_set() or taken or self._clock.monotonic() >= leadership.safe_until:
            raise LeadershipLostError(
                f"{self.identity} does not lead {self.settings.id} any more: nothing is written, "
                "another leader may be at work"
            )

    def _config(self, work: Callable[[threading.Event], object]) -> LeaderElectionConfig:
        settings, timing = self.settings, self.settings.timing()
        self._lock = lease_lock_from_config(
            self._client.config,
            settings.namespace,
            settings.id,
            self.identity,
            timing=timing,
            recorder=_LeaseEvents(self._recorder),
        )

        def lead(leadership: Leadership) -> None:
            self._leadership = leadership
            work(leadership.stop)

        return LeaderElectionConfig(
            lock=self._lock,
            timing=timing,
            on_started_leading=lead,
            on_stopped_leading=lambda _led: None,
            release_on_stop=settings.release_on_cancel,
            stop_timeout=self._grace,
            name=settings.id,
        )


class _LeaseEvents:
    """Events about a Lease, by way of a manager's other events."""

    def __init__(self, recorder: SeriesRecorder) -> None:
        self._recorder = recorder

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: object) -> None:
        # What happened is also the action: events of one action count as one.
        action = "".join(word.capitalize() for word in str(args[-1]).split()) if args else reason
        self._recorder.eventf(obj, None, event_type, reason, action, message, *args)


NEEDED: Final = ("get", "create", "update")

_GROUP: Final = "coordination.k8s.io"


def check_lease_permissions(client: Client, namespace: str, name: str) -> None:
    """Raise ``ConfigError`` for verbs that are missing. Blocks."""
    try:
        missing = _missing(client, namespace, name)
    except (DecodeError, StatusError, TransportError) as error:
        _log.warning("whether lease %s/%s may be used is unknown: %s", namespace, name, error)
        return
    if missing:
        raise ConfigError(
            f"leader election may not {', '.join(missing)} lease {namespace}/{name}: grant "
            f"{', '.join(NEEDED)} (and watch, to take over immediately) on leases.{_GROUP} in "
            f"namespace {namespace}"
        )


def _missing(client: Client, namespace: str, name: str) -> list[str]:
    asked = SelfSubjectRulesReview(spec=SelfSubjectRulesReviewSpec(namespace=namespace))
    status = client.resource(SelfSubjectRulesReview).create(asked).status
    missing = [
        verb
        for verb in NEEDED
        if not any(_allows(rule, verb, name) for rule in status.resource_rules)
    ]
    if not status.incomplete:
        return missing
    return [verb for verb in missing if not _may(client, verb, namespace, name)]


def _allows(rule: ResourceRule, verb: str, name: str) -> bool:
    """Return True if a rule grants a verb; what is created has no name that could be granted."""
    names = rule.resource_names
    return (
        _has(rule.verbs, verb)
        and _has(rule.api_groups, _GROUP)
        and _has(rule.resources, "leases")
        and (not names or (verb != "create" and name in names))
    )


def _has(granted: list[str] | None, wanted: str) -> bool:
    return granted is not None and ("*" in granted or wanted in granted)


def _may(client: Client, verb: str, namespace: str, name: str) -> bool:
    """Return the answer for one verb, where the list of rules is not all."""
    attributes = ResourceAttributes(
        group=_GROUP, resource="leases", verb=verb, namespace=namespace, name=name
    )
    review = SelfSubjectAccessReview(
        spec=SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    )
    return client.resource(SelfSubjectAccessReview).create(review).status.allowed
