"""The exercises: their texts, and which check belongs to which."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.exercises import cache_checks, loop_checks, queue_checks
from clientgo.tools.study.exercises.exercise import Exercise

EXERCISES: Final = (
    Exercise(
        1,
        "ten_edits",
        "ten edits, how many syncs?",
        "predict how often a key is synced that is edited ten times while it is synced",
        "A key is in the queue at most once, and a key that is being processed is only marked.",
        "docs/concepts/workqueue.md, and at Queue.add in clientgo/workqueue/queue.py",
        queue_checks.ten_edits,
    ),
    Exercise(
        2,
        "act_in_the_handler",
        "a handler that acts",
        "repair a controller that loses an event because its handler writes itself",
        "The handler adds ObjectName.of(foo) to lab.queue; sync reads the Foo from lab.foos "
        "and writes. A sync that raises is added again by the worker, an event is not.",
        "docs/concepts/handlers.md and docs/concepts/level-triggered.md",
        cache_checks.act_in_the_handler,
    ),
    Exercise(
        3,
        "forgotten_done",
        "the forgotten done()",
        "find out why a key is never synced again",
        "In the trace look for a queue.get without a queue.done. The queue holds a key back that "
        "it believes to be processed. Call done in a finally block.",
        "docs/concepts/workqueue.md, and at Queue.done in clientgo/workqueue/queue.py",
        queue_checks.forgotten_done,
    ),
    Exercise(
        4,
        "mutated_object",
        "a cached object is changed",
        "find the line that damages the cache, with the mutation detector",
        "clientgo.meta.deep_copy makes an object of your own.",
        "docs/concepts/indexer.md, and at clientgo/cache/informer/mutation_detector.py",
        cache_checks.mutated_object,
    ),
    Exercise(
        5,
        "missed_deletion",
        "a deletion that no watch saw",
        "handle the tombstone of an object that was deleted while the watch was down",
        "A DeletedFinalStateUnknown has a key and perhaps the last known state in obj. "
        "ObjectName.parse reads a key.",
        "docs/concepts/tombstones.md",
        cache_checks.missed_deletion,
    ),
    Exercise(
        6,
        "own_index",
        "an index of your own",
        "write an index function, and use by_index",
        "An index function returns a list of texts; indexer.by_index(name, value) finds them.",
        "docs/concepts/indexer.md",
        cache_checks.own_index,
    ),
    Exercise(
        7,
        "two_queues",
        "DeltaFIFO or RealFIFO",
        "predict in which order a cache gets five changes, from each queue",
        "DeltaFIFO has one entry for each key, at the place of its first change. RealFIFO has one "
        "for each change.",
        "docs/concepts/delta-fifo.md",
        cache_checks.two_queues,
    ),
    Exercise(
        8,
        "poison_key",
        "a poison key",
        "let a key that fails wait, and not the others; predict its delays",
        "On a failure call queue.add_rate_limited(key) and return; on success queue.forget(key). "
        "Each delay is twice the one before.",
        "docs/concepts/workqueue.md, and at clientgo/workqueue/rate_limiters.py",
        queue_checks.poison_key,
    ),
    Exercise(
        9,
        "two_leaders",
        "two leaders",
        "keep a leader that was suspended from writing when it goes on",
        "leadership.check() looks at the clock and raises when the term is over; run_workers has "
        "an argument that is called before each key.",
        "docs/concepts/leader-election.md, and at guard in clientgo/workqueue/workers.py",
        queue_checks.two_leaders,
    ),
    Exercise(
        10,
        "never_synced",
        "an informer that is never synced",
        "keep a program from deleting everything because its cache is still empty",
        "wait_for_cache_sync is true only if everything has synced: a stop ends it too.",
        "docs/concepts/informer.md, and at clientgo/cache/informer/wait_for_cache_sync.py",
        loop_checks.never_synced,
    ),
    Exercise(
        11,
        "blocking_handler",
        "a handler that blocks",
        "predict who waits for a handler that does not return",
        "The cache is updated before handlers are called, and each handler has its own thread.",
        "docs/concepts/handlers.md, and at clientgo/cache/informer/listener.py",
        loop_checks.blocking_handler,
    ),
    Exercise(
        12,
        "status_loop",
        "a status that triggers itself",
        "let a controller rest whose status has the time of its last sync",
        "An update that changes nothing makes no event. A sync that finds nothing to do writes "
        "nothing.",
        "docs/concepts/status.md",
        loop_checks.status_loop,
    ),
    Exercise(
        13,
        "child_without_owner",
        "a child without an owner",
        "let a child name its owner, and its events lead to the owner's key",
        "clientgo.meta.new_controller_ref makes the reference, get_controller_of reads it.",
        "docs/concepts/ownership.md",
        loop_checks.child_without_owner,
    ),
)
