"""Wrong answers to the exercises about what starts a sync."""

from __future__ import annotations

from typing import Final

from tests.tools.study.wrong_answer import WrongAnswer

_WAIT = """    if not wait_for_cache_sync(stop, lab.informer.has_synced):
        return
"""

_NEVER_SYNCED = (
    WrongAnswer(10, "does-not-wait", _WAIT, "", "that has not synced says nothing"),
    WrongAnswer(
        10,
        "ignores-the-result",
        _WAIT,
        "    wait_for_cache_sync(stop, lab.informer.has_synced)\n",
        "Delete only if wait_for_cache_sync",
    ),
    WrongAnswer(
        10,
        "asks-once",
        _WAIT,
        "    if not lab.informer.has_synced():\n        return\n",
        "Wait until the cache has synced, then delete",
    ),
    WrongAnswer(
        10,
        "does-not-call-has-synced",
        _WAIT,
        "    if not lab.informer.has_synced:\n        return\n",
        "Delete only if wait_for_cache_sync",
    ),
    WrongAnswer(
        10,
        "takes-empty-for-unknown",
        _WAIT,
        _WAIT + "    if not lab.foos.list():\n        return\n",
        "is empty says that there is no Foo",
    ),
    WrongAnswer(10, "never-deletes", _WAIT, "    return\n", "then delete what has no Foo"),
)

_CACHE = "IN_THE_CACHE: int | None = 11"
_BLOCKED = "CALLS_OF_THE_HANDLER_THAT_BLOCKS: int | None = 1"
_OTHER = "CALLS_OF_THE_OTHER_HANDLER: int | None = 11"

_BLOCKING_HANDLER = (
    WrongAnswer(11, "the-cache-waits", _CACHE, "IN_THE_CACHE = 1", "does not wait for handlers"),
    WrongAnswer(11, "the-cache-is-empty", _CACHE, "IN_THE_CACHE = 0", "does not wait for handlers"),
    WrongAnswer(
        11,
        "it-is-called-in-parallel",
        _BLOCKED,
        "CALLS_OF_THE_HANDLER_THAT_BLOCKS = 11",
        "one event after the other",
    ),
    WrongAnswer(
        11,
        "the-other-waits-too",
        _OTHER,
        "CALLS_OF_THE_OTHER_HANDLER = 1",
        "Each handler has a thread of its own",
    ),
    WrongAnswer(
        11,
        "the-other-is-never-called",
        _OTHER,
        "CALLS_OF_THE_OTHER_HANDLER = 0",
        "Each handler has a thread of its own",
    ),
    WrongAnswer(11, "a-text", _OTHER, "CALLS_OF_THE_OTHER_HANDLER = 'all'", "Write a number"),
)

_IF = """    if foo.status.replicas == foo.spec.replicas:
        return
"""
_COPY = "deep_copy(lab.foos.namespace(key.namespace).get(key.name))"

_STATUS_LOOP = (
    WrongAnswer(12, "always-writes", _IF, "", "A value that differs each time"),
    WrongAnswer(
        12,
        "writes-once",
        _IF,
        "    if foo.status.synced_at:\n        return\n",
        "an edit must reach the status",
    ),
    WrongAnswer(
        12,
        "waits-between-writes",
        _IF,
        "    if 0 < foo.status.synced_at and lab.clock.monotonic() - foo.status.synced_at < 60:\n"
        "        return\n",
        "Compare with the spec each time",
    ),
    WrongAnswer(
        12,
        "changes-the-cached-object",
        _COPY,
        _COPY.replace("deep_copy", ""),
        "change a deep_copy of it",
    ),
    WrongAnswer(12, "never-writes", "    lab.update(foo)\n", "", "an edit must reach the status"),
    WrongAnswer(
        12, "compares-with-a-number", _IF, _IF.replace("foo.spec.replicas", "3"), "must reach"
    ),
)

_REFERENCE = "(new_controller_ref(foo),)"
_NONE = """    if reference is None or reference.kind != "Foo":
        return None
"""
_KEY = 'return ObjectName(child.metadata.namespace or "", reference.name)'

_CHILD_WITHOUT_OWNER = (
    WrongAnswer(13, "no-reference", _REFERENCE, "()", "the garbage collector leaves the child"),
    WrongAnswer(
        13,
        "an-owner-that-is-no-controller",
        _REFERENCE,
        "(__import__('msgspec').structs.replace(new_controller_ref(foo), controller=None),)",
        "Set metadata.owner_references",
    ),
    WrongAnswer(
        13,
        "a-reference-without-the-uid",
        _REFERENCE,
        "(__import__('msgspec').structs.replace(new_controller_ref(foo), uid=''),)",
        "a reference that has controller and the uid",
    ),
    WrongAnswer(
        13,
        "the-child-s-own-key",
        _KEY,
        "return ObjectName.of(child)",
        "owner_of returns ObjectName(child.metadata.namespace, reference.name)",
    ),
    WrongAnswer(
        13,
        "expects-a-reference",
        _NONE,
        "",
        "get_controller_of(child) is None for it: return None",
    ),
    WrongAnswer(
        13,
        "any-kind",
        _NONE,
        _NONE.replace(' or reference.kind != "Foo"', ""),
        "another controller's child is not yours",
    ),
    WrongAnswer(
        13,
        "guesses-from-the-name",
        _NONE,
        '    return ObjectName("default", child.metadata.name.removesuffix("-child"))\n',
        "get_controller_of(child) is None for it",
    ),
    WrongAnswer(13, "a-text", _KEY, 'return f"default/{reference.name}"', "returns ObjectName("),
)

WRONG_OF_LOOPS: Final = (
    *_NEVER_SYNCED,
    *_BLOCKING_HANDLER,
    *_STATUS_LOOP,
    *_CHILD_WITHOUT_OWNER,
)
