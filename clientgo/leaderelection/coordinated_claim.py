"""A claim on a lock that a coordinator in the control plane assigns.

Renews a lease that names us, and nothing else: the coordinator handles a missing, expired or
foreign one, and ends a term by naming a preferred holder.

Differs from client-go (`tools/leaderelection`, tryCoordinatedRenew): such a term ends immediately.
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
