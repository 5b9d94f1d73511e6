"""A claim on a lock that a coordinator in the control plane gives to whom it likes.

Promises to renew a lease that names us, and nothing else: one that is missing, has expired or
names another is left to the coordinator, which also ends a term by naming a preferred holder.

Differs from client-go (``tools/leaderelection``, tryCoordinatedRenew): a term that the
coordinator ends is over at once, not when the renew deadline has passed.
"""

from __future__ import annotations

import threading
from math import inf

from clientgo.leaderelection.lease_claim import LeaseClaim, Renewal
from clientgo.meta import NotFoundError


class CoordinatedClaim(LeaseClaim):
    """Renews what was assigned; used as :class:`LeaseClaim` is."""

    def _try_to_acquire(self, stop: threading.Event) -> bool:
        return self._try_to_renew(inf, stop) is Renewal.DONE

    def _try_to_renew(self, deadline: float, stop: threading.Event) -> Renewal:
        try:
            found = self._read(deadline, stop)
        except NotFoundError:
            return Renewal.FAILED
        if found.holder_identity != self._me or found.preferred_holder:
            return Renewal.OVER
        if self.expires_in() < 0:
            return Renewal.FAILED
        self._slow_path.inc()
        self._write(self._lock.update, self._renewed(found), deadline, stop)
        return Renewal.DONE
