"""Deletes Jobs some seconds after they have finished: ``finished_jobs.py [SECONDS]``.

``clientgo apiserver -- python examples/finished_jobs.py`` runs it on an API server of its own.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from clientgo.api.batch_v1 import Job
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.meta import NotFoundError, ObjectName
from clientgo.meta.timestamps import parse_time
from clientgo.util.wait import setup_signal_handler

TTL = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0

with Client() as client:
    loop = ControlLoop(client, "finished-jobs")
    jobs = loop.watch(Job)

    def sync(name: ObjectName) -> float | None:
        try:
            job = jobs.namespace(name.namespace).get(name.name)
        except NotFoundError:
            return None
        conditions = (job.status.conditions if job.status else None) or ()
        finished = [
            condition.last_transition_time
            for condition in conditions
            if condition.type in ("Complete", "Failed") and condition.status == "True"
        ]
        if not finished or not finished[0]:
            return None
        left = parse_time(finished[0]) + TTL - time.time()
        if left > 0:
            return left
        with suppress(NotFoundError):  # the cache may be behind
            client.resource(Job).namespace(name.namespace).delete(
                name.name, uid=job.metadata.uid, propagation_policy="Background"
            )
            print(f"deleted {name}", flush=True)
        return None

    loop.run(sync, setup_signal_handler())
