"""Where ours does something else than what was recorded, on purpose, and why.

The replay of a component applies its rule to every case.
"""

from __future__ import annotations

_DONE_OF_A_STRANGER = "done() of an item that no worker has is ignored; client-go queues it"

RULES: dict[str, str] = {
    "workqueue": _DONE_OF_A_STRANGER,
    "workqueue_metrics": _DONE_OF_A_STRANGER,
    "pager": "each_list_item keeps the resource version beside a continue token, which servers "
    "refuse; ours sends it with the first page only, as list does",
    "reflector": "see informer_differences: the list after a version was unavailable comes in "
    "pages; an event that the store refuses is not lost but leads to a list; resyncs keep their "
    "beat over lists; a stream is stopped on every path; nothing is called once stopped. One case "
    "lost the group of its Tables when it was recorded",
    "filtering_handler": "a tombstone without an object passes every filter: its object may have "
    "passed, and then the handler must learn that it is gone",
    "shared_informer": "see informer_differences: what is true of the reflector; and the objects "
    "of a streamed list are transformed once, not twice",
    "leader_election": "a leader who reads that the lease is not its own steps down at once "
    "(client-go goes on until the renew deadline), and so does one whose lease is about to end; "
    "only our own lease is released, and again after a conflict; a request that hangs is given up "
    "in time for another. A case is compared up to there",
}
