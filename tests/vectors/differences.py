"""Where ours does something else than what was recorded, or does not do it, on purpose, and why.

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
    "delta_fifo": "objects are transformed before they come to a queue: a case is compared up to "
    "the first object that its transformer refuses. A list yields Replaced, where client-go yields "
    "Sync unless it is asked for Replaced",
    "real_fifo": "see delta_fifo: objects are transformed before they come to a queue",
    "filtering_handler": "a tombstone without an object passes every filter: its object may have "
    "passed, and then the handler must learn that it is gone",
    "shared_informer": "see informer_differences: what is true of the reflector; and the objects "
    "of a streamed list are transformed once, not twice",
    "leader_election": "a leader who reads that the lease is not its own steps down at once "
    "(client-go goes on until the renew deadline), and so does one whose lease is about to end; "
    "only our own lease is released, and again after a conflict; a request that hangs is given up "
    "in time for another. A case is compared up to there",
}

_CONVERSION = "converts selectors back to what they were made from; nothing here needs it"
_CLIENT_SIDE_APPLY = "part of client-side apply, as in kubectl; clients here apply on the server"

LEFT_OUT: dict[str, dict[str, str]] = {
    "wait_poll": {"delay_until": "a loop over the delays of a BackoffManager says the same"},
    "wait_backoff": {"exponential_backoff": "on_error does it; what fails raises"},
    "label_selectors": {
        "label_selector_as_map": _CONVERSION,
        "parse_to_label_selector": _CONVERSION,
        "convert_selector_to_labels_map": _CONVERSION,
        "conflicts": "nothing here asks whether two sets of labels disagree",
    },
    "field_selectors": {
        "transform": "a server here compares the fields as they are written",
        "nothing": "no field selector that matches nothing is ever made",
    },
    "json_merge_patch": {
        "merge_merge_patches": "nothing here joins two patches",
        "create_three_way_json_merge_patch": _CLIENT_SIDE_APPLY,
    },
    "strategic_merge_patch": {
        "create_two_way_merge_patch": _CLIENT_SIDE_APPLY,
        "create_three_way_merge_patch": _CLIENT_SIDE_APPLY,
    },
    "managed_fields": {
        "extract": "a controller applies what it wants, not what it applied before",
    },
}
"""Operations of a component that are left out."""
