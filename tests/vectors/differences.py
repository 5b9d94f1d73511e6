"""Where ours does something else than what was recorded, on purpose, and why.

`CASES`: component, case, reason; such a case must fail. `RULES`: component and reason, where the
difference is one of a kind that any case may contain; the replay of the component applies it.
"""

from __future__ import annotations

_DONE_OF_A_STRANGER = "done() of an item that is not in hand changes nothing; client-go queues it"

CASES: dict[str, dict[str, str]] = {
    "workqueue": dict.fromkeys(
        [
            "default/done_twice_after_readd",
            "recording_fifo/done_of_queued_item_duplicates",
            "recording_lifo/done_twice_after_readd",
            "recording_lifo/done_of_queued_item_duplicates",
            "random_01",
            "random_04",
            "random_07",
            "random_12",
            "random_13",
            "random_20",
            "random_22",
            "random_24",
            "random_35",
            "random_39",
            "random_41",
            "random_52",
        ],
        _DONE_OF_A_STRANGER,
    ),
    "workqueue_metrics": {"done_of_unknown": _DONE_OF_A_STRANGER},
}

RULES: dict[str, str] = {
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


def reason_to_differ(component: str, case: str) -> str | None:
    """Why a case must fail as it was recorded, or ``None`` if it must not."""
    return CASES.get(component, {}).get(case)
