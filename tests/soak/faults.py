"""Random faults of the server."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.core_v1 import Namespace
from clientgo.testcluster.server.faults import (
    WRITES,
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    HoldRequests,
    Requests,
    RestartServer,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from tests.soak.world import CLIENTS, DEFINITION, NAMESPACES, SILENCE, World


class Faults:
    """Random faults until a stop."""

    def __init__(self, world: World, seed: str) -> None:
        self._world = world
        self._rng = random.Random(seed)
        self._active: list[Fault] = []

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(self._rng.choice((0.01, 0.1, 0.3, 1.0))):
            choose = self._rng.choice(_FAULTS)
            self._world.findings.count(f"fault {choose.__name__.strip('_')}")
            choose(self, self._rng)
            if len(self._active) > 3:
                self._world.server.lift(self._active.pop(self._rng.randrange(3)))
        self._active.clear()

    def end(self) -> None:
        """Lift all faults, and bring back what they have deleted."""
        self._world.server.lift()
        self._world.proxy.mend()
        self._world.ensure()
        self._world.release()

    def _inject(self, fault: Fault, *, stays: bool = True) -> None:
        self._world.server.inject(fault)
        if stays:
            self._active.append(fault)

    def _requests(self, *verbs: str) -> Requests:
        resource = self._rng.choice(("", "", "configmaps", "foos", "pods", "leases", "events"))
        return Requests(verbs=verbs, resource=resource, user_agent=CLIENTS)

    def _fail(self, rng: random.Random) -> None:
        verbs = rng.choice(((), ("watch",), ("list",), WRITES))
        status = rng.choice((400, 401, 403, 404, 409, 410, 429, 500, 503, 504))
        fault = FailRequests(
            requests=self._requests(*verbs),
            status=status,
            times=rng.choice((1, 5, None)),
            chance=rng.choice((0.3, 1.0)),
            retry_after=1 if status in (429, 503) and rng.random() < 0.5 else None,
            after_effect=rng.random() < 0.2,
            seed=rng.randrange(1000),
        )
        self._inject(fault)

    def _delay(self, rng: random.Random) -> None:
        seconds = rng.choice((0.05, 0.5, 5.0))
        self._inject(DelayRequests(requests=self._requests(), seconds=seconds, times=5))

    def _hold(self, rng: random.Random) -> None:
        self._inject(HoldRequests(requests=self._requests(), times=rng.choice((1, 5))))

    def _cut(self, rng: random.Random) -> None:
        fault = CutAnswers(
            requests=self._requests(*rng.choice(((), ("watch",), ("list",)))),
            mid_chunk=rng.random() < 0.5,
            times=rng.choice((1, 4)),
            seed=rng.randrange(1000),
        )
        self._inject(fault)

    def _expire_tokens(self, rng: random.Random) -> None:
        self._inject(ExpireContinueTokens(requests=self._requests(), times=rng.choice((1, 3))))

    def _stale(self, rng: random.Random) -> None:
        self._world.time_goes_back = True
        self._inject(StaleLists(requests=self._requests()))

    def _freeze(self, rng: random.Random) -> None:
        chance = rng.choice((0.5, 1.0))
        self._inject(
            FreezeWatches(requests=self._requests(), chance=chance, seed=rng.randrange(99))
        )

    def _withhold(self, rng: random.Random) -> None:
        initial = rng.random() < 0.5
        self._inject(WithholdBookmarks(requests=self._requests(), initial_only=initial))

    def _close(self, rng: random.Random) -> None:
        fault = CloseWatches(
            requests=self._requests(),
            abruptly=rng.random() < 0.5,
            chance=rng.choice((0.5, 1.0)),
            seed=rng.randrange(99),
        )
        self._inject(fault, stays=False)

    def _expire(self, rng: random.Random) -> None:
        self._inject(ExpireHistory(), stays=False)
        if rng.random() < 0.3:
            self._inject(ExpireHistory(every=0.2))

    def _expire_and_close(self, rng: random.Random) -> None:
        self._inject(ExpireHistory(), stays=False)
        self._inject(CloseWatches(requests=self._requests(), abruptly=True), stays=False)

    def _skew(self, rng: random.Random) -> None:
        self._inject(SkewClock(seconds=rng.choice((-3600.0, 3600.0))))

    def _restart(self, rng: random.Random) -> None:
        self._inject(RestartServer(keep_history=rng.random() < 0.5), stays=False)

    def lose_state(self) -> None:
        """Replace the server by an empty one, whose versions begin again.

        Only while nothing is written: a client can't notice it once the versions of before have
        been passed.
        """
        self._world.findings.count("fault lose_state")
        self._world.state_lost_at = time.monotonic()
        self._inject(RestartServer(keep_objects=False), stays=False)
        self._world.state_lost_at = time.monotonic()
        self._world.ensure()
        time.sleep(2 * SILENCE)
        self._inject(CloseWatches(), stays=False)

    def _cut_cable(self, rng: random.Random) -> None:
        self._world.proxy.cut()
        time.sleep(rng.choice((0.0, 0.1, 1.0)))
        self._world.proxy.mend()

    def _delete_definition(self, rng: random.Random) -> None:
        if rng.random() < 0.7:
            return
        self._try(lambda: self._world.admin.resource(CustomResourceDefinition).delete(DEFINITION))
        time.sleep(rng.choice((0.0, 0.3)))
        self._world.ensure()

    def _delete_namespace(self, rng: random.Random) -> None:
        name = rng.choice(NAMESPACES)
        if rng.random() < 0.7:
            return
        self._try(lambda: self._world.admin.resource(Namespace).delete(name))
        self._world.ensure()

    def _try(self, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception:
            self._world.findings.count("faults that failed")


_FAULTS: tuple[Callable[[Faults, random.Random], None], ...] = (
    *(Faults._fail,) * 6,
    Faults._delay,
    Faults._hold,
    *(Faults._cut,) * 3,
    Faults._expire_tokens,
    Faults._stale,
    Faults._freeze,
    Faults._withhold,
    *(Faults._close,) * 3,
    *(Faults._expire,) * 2,
    *(Faults._expire_and_close,) * 3,
    Faults._skew,
    Faults._restart,
    Faults._cut_cable,
    Faults._delete_definition,
    Faults._delete_namespace,
)
