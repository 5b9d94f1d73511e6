"""Wrong answers to the exercises about handlers, caches and DeltaFIFO."""

from __future__ import annotations

from typing import Final

from tests.tools.study.wrong_answer import WrongAnswer

_ADD = "lab.queue.add(ObjectName.of(foo))"
_HANDLERS = "on_add=enqueue, on_update=lambda _, new: enqueue(new)"
_SYNC = """    foo = lab.foos.namespace(key.namespace).get(key.name)
    lab.write(foo.metadata.name, foo.spec.replicas)
"""

_REST = f"""        {_ADD}

    lab.informer.add_event_handler({_HANDLERS})


def sync(lab: Lab, key: ObjectName) -> None:
    \"\"\"Do the work for one key. Called by the worker for each key of the queue.\"\"\"
{_SYNC}"""

_ACT_IN_THE_HANDLER = (
    WrongAnswer(
        2,
        "swallows-the-failure",
        "    lab.write(foo.metadata.name, foo.spec.replicas)\n",
        "    try:\n        lab.write(foo.metadata.name, foo.spec.replicas)\n"
        "    except Exception:\n        pass\n",
        "sync must raise what it cannot repair",
    ),
    WrongAnswer(
        2,
        "a-lister-without-the-namespace",
        _SYNC,
        _SYNC.replace(".namespace(key.namespace)", ""),
        "lab.foos.namespace(key.namespace).get(key.name)",
    ),
    WrongAnswer(
        2,
        "enqueues-a-name",
        _ADD,
        "lab.queue.add(foo.metadata.name)",
        "sync gets the ObjectName that a handler enqueued",
    ),
    WrongAnswer(
        2,
        "enqueues-and-writes",
        _ADD,
        f"{_ADD}\n        lab.write(foo.metadata.name, foo.spec.replicas)",
        "A handler that writes has no second try",
    ),
    WrongAnswer(
        2,
        "no-handler-for-updates",
        _HANDLERS,
        "on_add=enqueue",
        "on_add and on_update call lab.queue.add",
    ),
    WrongAnswer(
        2,
        "one-argument-for-an-update",
        _HANDLERS,
        "on_add=enqueue, on_update=enqueue",
        "on_update the old and the new one",
    ),
    WrongAnswer(
        2,
        "a-loop-in-the-sync",
        _SYNC,
        "    while True:\n        try:\n            return _once(lab, key)\n"
        "        except OSError:\n            pass\n\n\n"
        f"def _once(lab: Lab, key: ObjectName) -> None:\n{_SYNC}",
        "and does other keys meanwhile",
    ),
    WrongAnswer(
        2,
        "writes-what-the-event-had",
        _REST,
        _REST.replace(_ADD, f"SEEN[foo.metadata.name] = foo\n        {_ADD}").replace(
            _SYNC, "    lab.write(key.name, SEEN[key.name].spec.replicas)\n\n\nSEEN = {}\n"
        ),
        "not what an event had",
    ),
    WrongAnswer(
        2,
        "raises-in-connect",
        f"    lab.informer.add_event_handler({_HANDLERS})",
        "    lab.informer.add_handler(enqueue)",
        "has no attribute 'add_handler'",
    ),
    WrongAnswer(
        2,
        "always-the-same-number",
        _SYNC,
        "    lab.write(key.name, 3)\n",
        "sync writes what the lister has now for its key",
    ),
    WrongAnswer(2, "an-empty-sync", _SYNC, "    return\n", "sync writes what the lister has"),
    WrongAnswer(
        2,
        "no-handler",
        f"    lab.informer.add_event_handler({_HANDLERS})",
        "    return",
        "Call lab.informer.add_event_handler in connect",
    ),
)

_CHANGE = "    foo.spec.replicas += 1\n"

_MUTATED_OBJECT = (
    WrongAnswer(
        4,
        "a-shallow-copy",
        "deep_copy(",
        "__import__('copy').copy(",
        "copy.copy is not enough",
    ),
    WrongAnswer(
        4,
        "changes-it-back",
        '    foo = deep_copy(lab.foos.namespace("default").get(name))\n' + _CHANGE,
        '    foo = lab.foos.namespace("default").get(name)\n'
        + _CHANGE
        + "    lab.write(name, foo.spec.replicas)\n    foo.spec.replicas -= 1\n    return\n",
        "The object of a lister is shared",
    ),
    WrongAnswer(
        4,
        "copies-too-late",
        'deep_copy(lab.foos.namespace("default").get(name))\n' + _CHANGE,
        'lab.foos.namespace("default").get(name)\n' + _CHANGE + "    foo = deep_copy(foo)\n",
        "The object of a lister is shared",
    ),
    WrongAnswer(
        4, "does-not-add-one", _CHANGE, "", "Read the Foo from the lister, and write its replicas"
    ),
    WrongAnswer(
        4,
        "always-the-same-number",
        "lab.write(name, foo.spec.replicas)",
        "lab.write(name, 4)",
        "write its replicas plus one",
    ),
    WrongAnswer(
        4,
        "writes-into-the-cache",
        "    lab.write(name, foo.spec.replicas)",
        "    lab.informer.indexer.update(foo)\n    lab.write(name, foo.spec.replicas)",
        "Only the informer writes into the cache",
    ),
)

_PARSE = "lab.queue.add(ObjectName.parse(foo.key))"
_ON_DELETE = """        if isinstance(foo, DeletedFinalStateUnknown):
            lab.queue.add(ObjectName.parse(foo.key))
        else:
            lab.queue.add(ObjectName.of(foo))
"""

_MISSED_DELETION = (
    WrongAnswer(
        5,
        "the-last-known-state",
        _PARSE,
        "lab.queue.add(ObjectName.of(foo.obj))",
        "obj of a tombstone is the last known state, or None",
    ),
    WrongAnswer(5, "ignores-tombstones", _PARSE, "return", "The sync must hear of it"),
    WrongAnswer(5, "enqueues-a-text", _PARSE, "lab.queue.add(foo.key)", "expects an ObjectName"),
    WrongAnswer(
        5,
        "only-tombstones",
        _ON_DELETE,
        "        lab.queue.add(ObjectName.parse(foo.key))\n",
        "Then on_delete is called with the Foo itself",
    ),
    WrongAnswer(
        5,
        "swallows-the-error",
        _ON_DELETE,
        "        try:\n            lab.queue.add(ObjectName.of(foo))\n"
        "        except Exception:\n            pass\n",
        "A tombstone names the object in key",
    ),
    WrongAnswer(
        5,
        "one-key-for-all",
        _PARSE,
        'lab.queue.add(ObjectName("default", "a"))',
        "Its key is always there",
    ),
    WrongAnswer(
        5,
        "does-not-ask",
        _ON_DELETE,
        "        lab.queue.add(ObjectName.of(foo))\n",
        "ask isinstance(foo, DeletedFinalStateUnknown)",
    ),
    WrongAnswer(
        5,
        "no-handler",
        "    lab.informer.add_event_handler(on_delete=on_delete)",
        "    return",
        "Call lab.informer.add_event_handler in connect",
    ),
)

_VALUES = "return [foo.spec.team]"
_FOUND = 'indexer.by_index("team", team)'

_OWN_INDEX = (
    WrongAnswer(6, "a-text", _VALUES, "return foo.spec.team", "by_team returns a list of texts"),
    WrongAnswer(6, "a-wrong-field", _VALUES, "return [foo.team]", "which is foo.spec.team"),
    WrongAnswer(6, "nothing", _VALUES, "pass", "by_team returns a list of texts"),
    WrongAnswer(6, "no-value", _VALUES, "return []", "by_team has returned [] for a Foo"),
    WrongAnswer(6, "the-name", _VALUES, "return [foo.metadata.name]", "by_team has returned ['a']"),
    WrongAnswer(6, "one-value-for-all", _VALUES, 'return ["red"]', "by_team has returned ['red']"),
    WrongAnswer(
        6, "another-index", _FOUND, _FOUND.replace('"team"', '"teams"'), "no index 'teams'"
    ),
    WrongAnswer(
        6,
        "looks-at-all",
        _FOUND,
        "[foo for foo in indexer.list() if foo.spec.team == team]",
        "how often all objects were listed",
    ),
    WrongAnswer(
        6,
        "keys-not-objects",
        _FOUND,
        'indexer.index_keys("team", team)',
        "foos_of returns what indexer.by_index",
    ),
    WrongAnswer(
        6,
        "none-for-an-empty-list",
        _FOUND,
        f"{_FOUND} or None",
        "For a team without Foos the list is empty",
    ),
)

_DELTA = 'DELTA_FIFO: list[str] | None = ["a: Added Updated", "b: Added Deleted", "c: Added"]'
_REAL = "REAL_FIFO: list[str] | None = "

_TWO_QUEUES = (
    WrongAnswer(
        7,
        "only-the-last-change",
        _DELTA,
        'DELTA_FIFO = ["a: Updated", "b: Deleted", "c: Added"]',
        "DeltaFIFO drops no change",
    ),
    WrongAnswer(
        7,
        "a-deletion-cancels-an-add",
        _DELTA,
        'DELTA_FIFO = ["a: Added Updated", "c: Added"]',
        "a deletion after an add too",
    ),
    WrongAnswer(
        7,
        "the-place-of-the-last-change",
        _DELTA,
        'DELTA_FIFO = ["c: Added", "a: Added Updated", "b: Added Deleted"]',
        "the place of its first change",
    ),
    WrongAnswer(
        7,
        "two-entries-of-a-key",
        _DELTA,
        'DELTA_FIFO = ["a: Added Updated", "b: Added", "b: Deleted", "c: Added"]',
        "one entry for each key",
    ),
    WrongAnswer(7, "another-form", _DELTA, 'DELTA_FIFO = ["a added"]', "Write a list of texts"),
    WrongAnswer(
        7,
        "real-fifo-merges",
        _REAL,
        'REAL_FIFO = ["a: Added Updated", "b: Added Deleted", "c: Added"]\nOTHER = ',
        "RealFIFO puts no changes together",
    ),
    WrongAnswer(
        7,
        "real-fifo-drops",
        _REAL,
        'REAL_FIFO = ["a: Updated", "b: Deleted", "c: Added"]\nOTHER = ',
        "RealFIFO drops nothing",
    ),
)

WRONG_OF_CACHES: Final = (
    *_ACT_IN_THE_HANDLER,
    *_MUTATED_OBJECT,
    *_MISSED_DELETION,
    *_OWN_INDEX,
    *_TWO_QUEUES,
)
