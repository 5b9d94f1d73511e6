"""What holds of the objects that a server has, however they came to be.

Each function yields the failures that it finds, so that one sort does not hide another.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.testcluster.server.fuzz.errors import REAL_SERVER_ERRORS
from tests.testcluster.server.fuzz.request_parts import APPLY_PATCH, JSON_PATCH
from tests.testcluster.server.fuzz.source import MERGE_PATCH, Kind
from tests.testcluster.server.fuzz.target import Failure, Target
from tests.testcluster.server.http_api import CRDS, Answer, Watch

_PAGE = "7"
"""Objects of a page: most kinds have more."""

_MOST_WRITTEN = 12
"""Objects of a kind that are written: the built-in roles are many, and alike."""

_RULES = re.compile("evaluating rule|overload|cost|: m$|was previously a storage version")
"""Messages of rules that can't be evaluated, that compare with the old object, or that do not hold
for a write of the status."""

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_GUARDS = (
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "mutatingadmissionpolicies",
)
"""Resources whose objects may refuse or change a write of any object."""

_TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
_METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}

Objects = dict[str, dict[str, Any]]
"""The objects of a kind by their paths."""


@dataclass(slots=True)
class Lists:
    """A list of each kind, by the path of the collection."""

    objects: dict[str, Objects] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def list_kinds(target: Target, kinds: list[Kind]) -> Lists:
    """Return a list of each kind."""
    lists = Lists()
    for kind in kinds:
        answer = target.list_of(kind)
        lists.objects[kind.collection] = _by_path(kind, answer["items"])
        lists.versions[kind.collection] = answer["metadata"]["resourceVersion"]
    return lists


def _by_path(kind: Kind, items: list[dict[str, Any]]) -> Objects:
    return {kind.path_of(item): _without_type(item) for item in items}


def _without_type(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object as most lists have it; custom resources have their type there."""
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def remove_guards(target: Target) -> None:
    """Remove what may refuse reads and writes of correct objects."""
    for guard in _GUARDS:
        target.api.call("DELETE", f"{_ADMISSION}/{guard}")
    conversion = {"strategy": "None", "webhook": None}
    for crd in target.api.get(CRDS)["items"]:
        path = f"{CRDS}/{crd['metadata']['name']}"
        target.api.call("PATCH", path, {"spec": {"conversion": conversion}}, MERGE_PATCH)


def check_lists(target: Target, kinds: list[Kind]) -> Iterator[Failure]:
    """Check that the forms of a list show the same objects."""
    for kind in kinds:
        found = list(_differences(target, kind))
        # The garbage collector may have been at work between two of the lists.
        yield from _differences(target, kind) if found else ()


def _differences(target: Target, kind: Kind) -> Iterator[Failure]:
    path = kind.everywhere
    whole = target.list_of(kind)["items"]
    names = [item["metadata"]["name"] for item in whole]
    pages = list(_pages(target, path))
    if pages != whole:
        yield _failure(kind, "pages of a list differ from the list", pages, whole)
    rows = target.api.call("GET", path, headers=_TABLE).body["rows"]
    if (shown := [row["object"]["metadata"]["name"] for row in rows]) != names:
        yield _failure(kind, "a Table differs from the list", shown, names)
    partial = target.api.call("GET", path, headers=_METADATA_LIST).body["items"]
    expected = [item["metadata"] for item in whole]
    if (shown := [item["metadata"] for item in partial]) != expected:
        yield _failure(kind, "metadata differ from those of the list", shown, expected)
    parts = [
        item
        for selector in ("a", "!a")
        for item in target.api.get(path, labelSelector=selector)["items"]
    ]
    if _by_path(kind, parts) != _by_path(kind, whole):
        yield _failure(kind, "selectors a and !a differ from the list", parts, whole)
    for name in names[:2]:
        selected = target.api.get(path, fieldSelector=f"metadata.name={name}")["items"]
        if {item["metadata"]["name"] for item in selected} != {name}:
            yield _failure(kind, "a field selector selects something else", selected, name)


def _pages(target: Target, path: str) -> Iterator[dict[str, Any]]:
    token = ""
    while True:
        more = {"continue": token} if token else {}
        page = target.api.get(path, limit=_PAGE, **more)
        yield from page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            return


def check_watches(target: Target, kinds: list[Kind], first: Lists) -> Iterator[Failure]:
    """Check that a watch replays what became of the first lists, and that it can send them."""
    now = list_kinds(target, kinds)
    open_watches = [
        (kind, target.api.watch(kind.everywhere, timeoutSeconds="1", resourceVersion=version))
        for kind in kinds
        if (version := first.versions.get(kind.collection))
    ]
    replayed = [
        (kind, _replay(kind, watch, first.objects[kind.collection])) for kind, watch in open_watches
    ]
    streamed = [(kind, _replay(kind, _list_watch(target, kind), {})) for kind in kinds]
    later = list_kinds(target, kinds)  # a controller may have been at work meanwhile
    for kind, objects in (*replayed, *streamed):
        wanted = now.objects[kind.collection]
        if isinstance(objects, dict) and objects not in (wanted, later.objects[kind.collection]):
            yield _failure(kind, "the events of a watch differ from the list", objects, wanted)
        if isinstance(objects, str):
            yield Failure(f"a watch of {kind.everywhere} sends {objects}")


def _list_watch(target: Target, kind: Kind) -> Watch:
    return target.api.watch(
        kind.everywhere,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
        timeoutSeconds="60",
    )


def _replay(kind: Kind, watch: Watch, objects: Objects) -> Objects | str | None:
    """Return the objects after the events of a watch.

    None if it starts from a version that is too old; a text is another error.
    """
    objects = dict(objects)
    try:
        for event in watch:
            obj = event["object"]
            if event["type"] == "ERROR":
                return None if obj["code"] == 410 else str(obj)
            if event["type"] == "BOOKMARK":
                break
            if event["type"] == "DELETED":
                objects.pop(kind.path_of(obj), None)
            else:
                objects[kind.path_of(obj)] = _without_type(obj)
    finally:
        watch.close()
    return objects


def check_writes(target: Target, kinds: list[Kind]) -> Iterator[Failure]:
    """Check that a write of what a read gave is accepted and changes nothing."""
    for kind in kinds:
        for path in list(_by_path(kind, target.list_of(kind)["items"]))[:_MOST_WRITTEN]:
            for write in _WRITES:
                yield from _check_write(target, kind, path, write)
            for subresource, write in (("status", _PUT), ("scale", _PUT_SCALE)):
                if subresource in kind.subresources:
                    yield from _check_write(target, kind, path, write, f"/{subresource}")


@dataclass(frozen=True, slots=True)
class _Write:
    """A write that must not change an object."""

    method: str
    body: Callable[[Any], Any]
    """Returns what is sent for an object that has been read."""
    content_type: str = "application/json"
    query: dict[str, str] = field(default_factory=dict)
    unowned: bool = False
    """Its fields may get another owner."""


def _configuration(obj: Any) -> Any:
    """What a client applies to have the object that it sees."""
    names = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    return {**{key: obj[key] for key in obj if key != "status"}, "metadata": names}


_DRY = {"dryRun": "All"}
_PUT = _Write("PUT", lambda obj: obj)
_PUT_SCALE = _Write("PUT", lambda obj: obj, unowned=True)
"""It may change replicas of more than 32 bits, which a Scale cuts off."""
_WRITES = (
    _PUT,
    _Write("PATCH", lambda obj: obj, MERGE_PATCH),
    _Write("PATCH", lambda _: [], JSON_PATCH),
    _Write("PATCH", lambda _: {"metadata": {"labels": {"dry": "run"}}}, MERGE_PATCH, _DRY),
    _Write("DELETE", lambda _: None, query=_DRY),
    _Write(
        "PATCH",
        _configuration,
        APPLY_PATCH,
        {"fieldManager": "checks", "force": "true"},
        unowned=True,
    ),
    _PUT,
)


def _check_write(
    target: Target, kind: Kind, path: str, write: _Write, subresource: str = ""
) -> Iterator[Failure]:
    until = time.monotonic() + 30
    path += subresource
    while True:
        before = target.api.call("GET", path)
        if before.status == 404 or REAL_SERVER_ERRORS.search(str(before.body)):
            return
        body = write.body(before.body)
        if write.content_type == MERGE_PATCH and _has_null(body):
            return  # it would remove the field
        answer = target.api.call(write.method, path, body, write.content_type, None, **write.query)
        after = target.api.call("GET", path)
        if _is_refused(write, answer) or (answer.status < 500 and not _is_stored(target, kind)):
            return
        if answer.status < 300 and _seen(after.body, write) == _seen(before.body, write):
            return
        if time.monotonic() > until or answer.status == 422:
            break
        time.sleep(0.1)  # a controller may be at work on it
    sort = write.content_type.partition("/")[2].removesuffix("-patch+json")
    what = f"{write.method} {sort} {subresource} {dict(write.query)} of what GET gave"
    if answer.status < 300:
        yield _failure(kind, f"{what} changes it", after.body, before.body)
        return
    details = answer.body.get("details") if isinstance(answer.body, Mapping) else None
    cause = ((details or {}).get("causes") or [{}])[0]
    yield Failure(
        f"{path}: {what} is answered with {answer}\nGET: {before.body}",
        f"{kind.kind} {what}: {answer.status} {cause.get('field', '')}",
    )


def _has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return value is None


def _is_refused(write: _Write, answer: Answer) -> bool:
    """Return True if a real server refuses the write too."""
    if write.method == "DELETE":
        return answer.status == 403  # a namespace that may not be deleted
    if answer.status == 413:  # the owners of its fields have made it larger than a request
        return True
    if answer.status == 422 and "Invalid value" in str(answer.body):
        # A binding to a node is not validated. In updates, what does not change may be wrong by
        # rules that are newer than the object, see `_RULES`, and by the paths of its scale, which
        # begin with a dot. Core events may have finalizers that those of events.k8s.io may not.
        details = answer.body["details"]
        unchecked: tuple[str, ...] = (".", "spec.nodeName")
        if details["kind"] == "Event":
            unchecked += ("metadata.finalizers",)
        return all(
            cause["field"].startswith(unchecked) or _RULES.search(cause["message"])
            for cause in details["causes"]
        )
    is_apply = write.content_type == APPLY_PATCH
    return is_apply and bool(REAL_SERVER_ERRORS.search(str(answer.body)))


def _is_stored(target: Target, kind: Kind) -> bool:
    """Return False if objects are or were stored in another version of the kind.

    They are read without the defaults of this version. A write sets them: what they are set in
    counts as changed, each time if the other version does not keep it, and has to be valid.
    """
    return not any(
        f"{crd['spec']['group']}/{stored}" != kind.api_version
        for crd in target.api.get(CRDS)["items"]
        for stored in crd["status"]["storedVersions"]
        if crd["spec"]["group"] == kind.api_version.partition("/")[0]
        and crd["status"]["acceptedNames"]["kind"] == kind.kind
    )


def _seen(obj: Any, write: _Write) -> Any:
    if not write.unowned:
        return obj
    ignored = ("managedFields", "resourceVersion")
    kept = {key: value for key, value in obj["metadata"].items() if key not in ignored}
    return {**obj, "metadata": kept}


def _failure(kind: Kind, what: str, got: Any, wanted: Any) -> Failure:
    return Failure(
        f"{kind.collection}: {what}: {got}\ninstead of: {wanted}",
        f"{kind.api_version} {kind.kind}: {what}",
    )
