"""The state of a cluster at the end of a run, in a form that two runs can be compared in.

Promises: what must differ between runs does not count: uids, versions, generations, times, field
owners, names that the server generates, and the addresses that it allocates. An owner is shown by
its name; one that does not exist is shown as such, so that what was left behind differs.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from clientgo.client import Client, DiscoveryClient
from clientgo.meta import NotFoundError
from clientgo.meta.resource_version import parse_resource_version

State: TypeAlias = Counter[str]
"""Each object as readable text, and how many are equal."""

Normalise: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

_DROPPED: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
)
_ALLOCATED: Final = ("clusterIP", "clusterIPs", "healthCheckNodePort")
"""What the API server chooses for a Service."""
_UID: Final = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def read_state(
    client: Client, plurals: Iterable[str], since: int, normalise: Normalise | None = None
) -> State:
    """Read the objects of resources, given by their plurals without subresources.

    What the cluster had at version ``since``, and nothing has changed, is left out.
    """
    wanted = {plural.partition("/")[0] for plural in plurals}
    served = DiscoveryClient(client.config).preferred_resources().supporting("list")
    objects = []
    for resource in served:
        if resource.plural in wanted:
            try:
                found = client.resource(resource).list().items
            except NotFoundError:
                continue  # its definition was deleted meanwhile
            objects += [
                obj.to_dict()
                for obj in found
                if (parse_resource_version(obj.metadata.resource_version) or 0) > since
            ]
    owners = {
        obj["metadata"]["uid"]: f"{obj['kind']} {_shown_name(obj['metadata'])}" for obj in objects
    }
    return Counter(_text(obj, owners, normalise) for obj in objects)


def _text(obj: dict[str, Any], owners: Mapping[str, str], normalise: Normalise | None) -> str:
    metadata = obj["metadata"]
    metadata["name"] = _shown_name(metadata)
    observed = obj.get("status", {})
    if isinstance(observed, dict) and "observedGeneration" in observed:
        current = observed["observedGeneration"] == metadata.get("generation")
        observed["observedGeneration"] = "current" if current else "outdated"
    for name in _DROPPED:
        metadata.pop(name, None)
    if obj["kind"] == "Service":
        for name in _ALLOCATED:
            obj["spec"].pop(name, None)
        for port in obj["spec"].get("ports", ()):
            port.pop("nodePort", None)
    for owner in metadata.get("ownerReferences", ()):
        owner["name"] = owners.get(owner.pop("uid"), f"{owner['name']}, which does not exist")
    if normalise is not None:
        obj = normalise(obj)
    text = _TIME.sub("<time>", json.dumps(obj, indent=1, sort_keys=True))
    return _UID.sub(lambda uid: f"<uid of {owners.get(uid[0], 'what does not exist')}>", text)


def _shown_name(metadata: Mapping[str, Any]) -> str:
    prefix = metadata.get("generateName")
    return f"{prefix}(generated)" if prefix else str(metadata["name"])


class Names(NamedTuple):
    """What two states are called, and an object of the second that the first has not."""

    first: str
    second: str
    extra: str


DISTURBED: Final = Names("undisturbed", "disturbed", "exists and should not")
RUNS: Final = Names("first run", "second run", "is new in the second run")


def differences(expected: State, actual: State, names: Names = DISTURBED) -> str:
    """Describe how a state differs from the expected one; empty if it does not."""
    missing, extra = list((expected - actual).elements()), list((actual - expected).elements())
    lines = []
    for text in list(extra):
        title = _title(text)
        twin = next((other for other in missing if _title(other) == title), None)
        if twin is not None:
            extra.remove(text)
            missing.remove(twin)
            changed = difflib.unified_diff(
                twin.splitlines(), text.splitlines(), names.first, names.second, "", "", 3, ""
            )
            lines += [f"{title} differs:", *(f"  {line}" for line in changed)]
    for text in extra:
        known = any(_title(other) == _title(text) for other in expected)
        lines.append(f"{_title(text)} {'exists once more' if known else names.extra}")
    lines += [f"{_title(text)} is missing" for text in missing]
    return "\n".join(lines)


def _title(text: str) -> str:
    obj = json.loads(text)
    metadata = obj["metadata"]
    return f"{obj['kind']} {metadata.get('namespace', '')}/{metadata['name']}".replace(" /", " ")
