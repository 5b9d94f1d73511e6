"""The options of a request: ``CreateOptions``, ``ListOptions``, ``DeleteOptions`` and so on.

Promises: options are read from the query (of deletions also from the body) into typed values, and
refused as by a real API server.

Upstream: ``metav1.*Options`` and ``metav1/validation``, ``metainternalversion/validation``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from clientgo.apiserver.http.bodies import decode_options
from clientgo.apiserver.http.messages import Request
from clientgo.apiserver.objects.options import (
    DeleteOptions,
    FieldValidation,
    Propagation,
    WriteOptions,
)
from clientgo.apiserver.resources.errors import (
    bad_request,
    invalid_options,
)
from clientgo.meta.decoding import convert
from clientgo.meta.selectors import (
    FieldSelector,
    Selector,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
)
from clientgo.schema.field_errors import FieldError

_MAX_MANAGER_LENGTH = 128
_SIGNED = re.compile(r"[+-]?[0-9]{1,19}")


_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _SentDeleteOptions(msgspec.Struct, rename="camel"):
    """Delete options as sent: the types are checked, the values are not."""

    dry_run: list[str] | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: _Int64 | None = None
    preconditions: _Preconditions | None = None


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Options of list and watch."""

    label_selector: Selector
    field_selector: FieldSelector
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout: int | None = None
    bookmarks: bool = False
    send_initial_events: bool | None = None


def write_options(request: Request, kind: str) -> WriteOptions:
    """Read ``CreateOptions``, ``UpdateOptions`` or ``PatchOptions``, named by ``kind``.

    Raises:
        RequestError: 422, an option has an invalid value.
    """
    causes = []
    if (dry_run := request.query.get("dryRun")) and set(dry_run) != {"All"}:
        causes.append(FieldError.not_supported("dryRun", dry_run, ["All"]))
    manager = request.parameter("fieldManager")
    if len(manager) > _MAX_MANAGER_LENGTH:
        causes.append(FieldError.too_long("fieldManager", _MAX_MANAGER_LENGTH))
    elif not manager.isprintable():
        causes.append(
            FieldError.invalid("fieldManager", manager, "should only contain printable characters")
        )
    validation = request.parameter("fieldValidation") or FieldValidation.WARN
    if validation not in list(FieldValidation):
        causes.append(
            FieldError.not_supported("fieldValidation", validation, [*FieldValidation, ""])
        )
    if causes:
        raise invalid_options(kind, causes)
    return WriteOptions(
        bool(dry_run),
        manager or _default_manager(request),
        FieldValidation(validation),
        request.flag("force"),
        _as_sent(request, kind),
        request.user,
    )


def _as_sent(request: Request, kind: str) -> dict[str, Any]:
    sent: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    for name in ("fieldManager", "fieldValidation"):
        if value := request.parameter(name):
            sent[name] = value
    if dry_run := request.query.get("dryRun"):
        sent["dryRun"] = dry_run
    return sent


def _default_manager(request: Request) -> str:
    """Return the field manager of a request that names none: the program in the User-Agent."""
    agent = request.headers.get("user-agent", "").partition("/")[0]
    return "".join(filter(str.isprintable, agent))[:_MAX_MANAGER_LENGTH] or "unknown"


def delete_options(request: Request) -> DeleteOptions:
    """Read ``DeleteOptions`` from the body or, if there is none, from the query.

    Raises:
        RequestError: 400 or 422, the options can't be read or contradict each other.
    """
    given = decode_options(request) if request.body else _delete_query(request)
    try:
        sent = convert(given, _SentDeleteOptions)
    except msgspec.ValidationError as error:
        raise bad_request(f"DeleteOptions can't be read: {error}") from error
    causes = []
    if sent.dry_run and set(sent.dry_run) != {"All"}:
        causes.append(FieldError.not_supported("dryRun", sent.dry_run, ["All"]))
    policy, orphan = sent.propagation_policy, sent.orphan_dependents
    if policy is not None and orphan is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(FieldError.invalid("propagationPolicy", policy, detail))
    if policy and policy not in list(Propagation):
        causes.append(FieldError.not_supported("propagationPolicy", policy, [*Propagation, "nil"]))
    if causes:
        raise invalid_options("DeleteOptions", causes)
    if orphan is not None:
        policy = Propagation.ORPHAN if orphan else Propagation.BACKGROUND
    preconditions = sent.preconditions or _Preconditions()
    return DeleteOptions(
        bool(sent.dry_run),
        preconditions.uid,
        preconditions.resource_version,
        Propagation(policy) if policy else None,
        sent.grace_period_seconds,
        {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        | {
            key: value
            for key, value in given.items()
            if key not in ("kind", "apiVersion") and value
        },
        request.user,
    )


def _delete_query(request: Request) -> dict[str, Any]:
    """Return the query of a DELETE in the form of the body."""
    given: dict[str, Any] = {"dryRun": request.query.get("dryRun")}
    if policy := request.parameter("propagationPolicy"):
        given["propagationPolicy"] = policy
    if "orphanDependents" in request.query:
        given["orphanDependents"] = request.flag("orphanDependents")
    if grace := request.parameter("gracePeriodSeconds"):
        given["gracePeriodSeconds"] = parse_integer(grace)
    given["preconditions"] = {
        name: request.parameter(name)
        for name in ("uid", "resourceVersion")
        if name in request.query
    }
    return given


def list_options(request: Request) -> ListQuery:
    """Read ``ListOptions``; lists and watches check the combinations with their own rules.

    Raises:
        RequestError: 400, a selector or a number can't be parsed.
    """
    try:
        labels = parse_label_selector(request.parameter("labelSelector"))
        fields = parse_field_selector(request.parameter("fieldSelector"))
    except SelectorError as error:
        raise bad_request(str(error)) from error
    timeout = request.parameter("timeoutSeconds")
    return ListQuery(
        labels,
        fields,
        request.parameter("resourceVersion"),
        request.parameter("resourceVersionMatch"),
        max(0, parse_integer(request.parameter("limit") or "0")),
        request.parameter("continue"),
        parse_integer(timeout) if timeout else None,
        request.flag("allowWatchBookmarks"),
        request.flag("sendInitialEvents") if "sendInitialEvents" in request.query else None,
    )


def check_list_match(options: ListQuery) -> None:
    """Refuse invalid combinations of resourceVersionMatch for a list.

    Raises:
        RequestError: 422.
    """
    if options.send_initial_events is not None:
        cause = FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        raise invalid_options("ListOptions", [cause])
    path, match, version = "resourceVersionMatch", options.match, options.resource_version
    if not match:
        return
    causes = []
    if not version:
        causes.append(
            FieldError.forbidden(path, f"{path} is forbidden unless resourceVersion is provided")
        )
    if options.continue_token:
        causes.append(FieldError.forbidden(path, f"{path} is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        causes.append(FieldError.not_supported(path, match, ["Exact", "NotOlderThan", ""]))
    elif match == "Exact" and version == "0":
        causes.append(
            FieldError.forbidden(path, f'{path} "exact" is forbidden for resourceVersion "0"')
        )
    if causes:
        raise invalid_options("ListOptions", causes)


def check_watch_match(options: ListQuery) -> None:
    """Refuse invalid combinations of resourceVersionMatch and sendInitialEvents.

    Raises:
        RequestError: 422.
    """
    path, match, initial = "resourceVersionMatch", options.match, options.send_initial_events
    causes = []
    if match and initial is None:
        detail = f"{path} is forbidden for watch unless sendInitialEvents is provided"
        causes.append(FieldError.forbidden(path, detail))
    if initial is not None:
        if not match:
            detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(FieldError.forbidden(path, detail))
        elif match != "NotOlderThan":
            causes.append(FieldError.not_supported(path, match, ["NotOlderThan"]))
    if causes:
        raise invalid_options("ListOptions", causes)


def parse_integer(text: str) -> int:
    """Read a number as the API's query decoder does.

    Raises:
        RequestError: 400, it is none.
    """
    number = int(text) if _SIGNED.fullmatch(text) else None
    if number is None or not -(2**63) <= number < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return number
