"""Limit ranges: default requests and limits of containers, and bounds of pods and claims.

Upstream: ``plugin/pkg/admission/limitranger``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import ClassVar

from clientgo.testcluster.server.admission.plugins.plugin import Cached, Plugin
from clientgo.testcluster.server.objects.admission import Operation, Review
from clientgo.testcluster.server.resources.errors import forbidden
from clientgo.testcluster.server.storage.storage import Collection, CollectionKey, Object, Storage
from clientgo.util.text.quantities import canonical_quantity, parse_quantity

_LIMIT_RANGES: CollectionKey = ("", "limitranges")
_ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))

Amounts = dict[str, str]
"""Quantities by the names of resources."""


class LimitRanges:
    """The items of all limit ranges, by namespace."""

    def __init__(self, storage: Storage) -> None:
        self._items = Cached(storage, _LIMIT_RANGES, _by_namespace)

    def of(self, review: Review) -> list[Object]:
        """Return the items that count for a new object."""
        if review.operation is not Operation.CREATE:
            return []
        items: list[Object] = (self._items.get() or {}).get(review.namespace, [])
        return items


class LimitDefaults(Plugin):
    """Gives the containers of pods the default requests and limits of their namespace."""

    resources: ClassVar = (("", "pods"),)

    def __init__(self, ranges: LimitRanges) -> None:
        self._ranges = ranges

    def admit(self, review: Review, obj: Object) -> None:
        """Set what the containers of a new pod lack, and say so in an annotation."""
        for item in self._ranges.of(review):
            if item["type"] != "Container":
                continue
            if notes := list(_set_defaults(obj["spec"], item)):
                annotations = obj["metadata"].setdefault("annotations", {})
                annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"
                review.obj = {**obj}  # another object is read again, and its status set


class LimitBounds(Plugin):
    """Refuses pods and claims outside of the bounds of their namespace."""

    resources: ClassVar = (("", "pods"), ("", "persistentvolumeclaims"))

    def __init__(self, ranges: LimitRanges) -> None:
        self._ranges = ranges

    def admit(self, review: Review, obj: Object) -> None:
        """Refuse a new object that asks for too little or too much."""
        items = self._ranges.of(review)
        if not items:
            return
        problems = [
            problem
            for item in items
            for requests, limits in _measured(review.resource.plural, item["type"], obj["spec"])
            for problem in _problems(item, requests, limits)
        ]
        if problems:
            why = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise forbidden(review.resource, review.name, why)


def _by_namespace(ranges: Collection) -> Object:
    items: Object = {}
    for stored in ranges.scan():
        found = stored.decode()
        of_namespace = items.setdefault(found["metadata"]["namespace"], [])
        of_namespace += found["spec"].get("limits") or []
    return items


def _set_defaults(spec: Object, item: Object) -> Iterator[str]:
    for field, what in _CONTAINERS:
        for container in spec.get(field) or ():
            for kind, note, default in (
                ("requests", "request", "defaultRequest"),
                ("limits", "limit", "default"),
            ):
                own = (container.get("resources") or {}).get(kind) or {}
                missing = {k: v for k, v in (item.get(default) or {}).items() if k not in own}
                if missing:
                    container.setdefault("resources", {})[kind] = {**own, **missing}
                    yield f"{', '.join(sorted(missing))} {note} for {what} {container['name']}"


def _measured(plural: str, kind: str, spec: Object) -> Iterator[tuple[Amounts, Amounts | None]]:
    """Yield the requests and the limits that a kind of item is about; claims have no limits."""
    if plural == "persistentvolumeclaims":
        if kind == "PersistentVolumeClaim":
            yield spec.get("resources", {}).get("requests") or {}, None
        return
    containers, first = (
        [container.get("resources") or {} for container in spec.get(field) or ()]
        for field, _ in _CONTAINERS
    )
    if kind == "Container":
        for resources in containers + first:
            yield resources.get("requests") or {}, resources.get("limits") or {}
    elif kind == "Pod":
        own = spec.get("resources") or {}
        requests, limits = (
            {**_of_pod(containers, first, field), **(own.get(field) or {})}
            for field in ("requests", "limits")
        )
        yield requests, limits


def _of_pod(containers: list[Object], first: list[Object], field: str) -> Amounts:
    """Return what the containers need: together, or one before the others, whatever is more."""
    together: dict[str, Decimal] = {}
    for amounts in _amounts(containers, field):
        for name, value in amounts.items():
            together[name] = together.get(name, Decimal(0)) + parse_quantity(value)
    for amounts in _amounts(first, field):
        for name, value in amounts.items():
            together[name] = max(together.get(name, Decimal(0)), parse_quantity(value))
    return {name: canonical_quantity(f"{value:f}") for name, value in together.items()}


def _amounts(resources: Iterable[Object], field: str) -> Iterator[Amounts]:
    return (item.get(field) or {} for item in resources)


def _problems(item: Object, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    kind = item["type"]
    for name, bound in (item.get("min") or {}).items():
        words = f"minimum {name} usage per {kind} is {bound}"
        if name not in requests:
            yield f"{words}.  No request is specified"
        else:
            yield from _beyond(words, name, bound, requests, limits or {}, _is_less)
    for name, bound in (item.get("max") or {}).items():
        words = f"maximum {name} usage per {kind} is {bound}"
        if limits is None and name not in requests:
            yield f"{words}.  No request is specified"
        elif limits is not None and name not in limits:
            yield f"{words}.  No limit is specified"
        else:
            yield from _beyond(words, name, bound, requests, limits or {}, _is_more)
    for name, bound in (item.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio_problem(kind, name, bound, requests, limits or {})


def _is_less(value: Decimal, bound: Decimal) -> bool:
    return value < bound


def _is_more(value: Decimal, bound: Decimal) -> bool:
    return value > bound


def _beyond(
    words: str,
    name: str,
    bound: str,
    requests: Amounts,
    limits: Amounts,
    is_beyond: Callable[[Decimal, Decimal], bool],
) -> Iterator[str]:
    """Yield that the request is beyond a bound, or else that the limit is; a maximum reversed."""
    both = [("request", requests.get(name)), ("limit", limits.get(name))]
    for what, value in both if is_beyond is _is_less else reversed(both):
        if value is not None and is_beyond(parse_quantity(value), parse_quantity(bound)):
            yield f"{words}, but {what} is {canonical_quantity(value)}"
            return


def _ratio_problem(
    kind: str, name: str, bound: str, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    words = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit = (parse_quantity(amounts.get(name, "0")) for amounts in (requests, limits))
    if not request:
        yield f"{words}, but no request is specified or request is 0"
    elif not limit:
        yield f"{words}, but no limit is specified or limit is 0"
    elif (ratio := limit / request) > parse_quantity(bound):
        yield f"{words}, but provided ratio is {ratio:.6f}"
