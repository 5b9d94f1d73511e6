"""The options of a request: ``CreateOptions``, ``ListOptions``, ``DeleteOptions`` and so on.

Promises: options are read from the query (of deletions also from the body) into typed values, and
refused as by a real API server.

Upstream: ``metav1.*Options`` and ``metav1/validation``, ``metainternalversion/validation``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec

from clientgo.meta.decoding import convert
from clientgo.meta.selectors import (
    FieldSelector,
    Selector,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
)
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.http.bodies import decode_options
from clientgo.testcluster.server.http.messages import Request
from clientgo.testcluster.server.objects.options import (
    DeleteOptions,
    FieldValidation,
    Propagation,
    WriteOptions,
)
from clientgo.testcluster.server.requests.attributes import attributes_of
from clientgo.testcluster.server.resources.errors import (
    bad_request,
    invalid_options,
)
from clientgo.util.text.durations import parse_go_duration
from clientgo.util.text.percent_encoding import as_utf8

_MAX_MANAGER_LENGTH = 128
_LONG_RUNNING = frozenset({"attach", "exec", "log", "portforward", "proxy"})
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


class ListQuery(msgspec.Struct, frozen=True):
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


_PROPAGATIONS = (Propagation.FOREGROUND, Propagation.BACKGROUND, Propagation.ORPHAN, "nil")
_VALIDATIONS = {str(validation): validation for validation in FieldValidation}


def _unprintable(manager: str) -> str | None:
    """Return what is wrong with the name of a manager that can't be printed."""
    for index, letter in enumerate(manager):
        if not letter.isprintable():
            position = len(manager[:index].encode())
            return f"invalid character U+{ord(letter):04X} (at position {position})"
    return None


def write_options(request: Request, kind: str) -> WriteOptions:
    """Read ``CreateOptions``, ``UpdateOptions`` or ``PatchOptions``, named by ``kind``.

    Raises:
        FailedRequestError: 422, an option has an invalid value.
    """
    causes = []
    if (dry_run := request.query.get("dryRun")) and set(dry_run) != {"All"}:
        causes.append(FieldError.not_supported("dryRun", dry_run, ["All"]))
    manager = as_utf8(request.parameter("fieldManager"))
    if len(manager) > _MAX_MANAGER_LENGTH:
        causes.append(FieldError.too_long("fieldManager", _MAX_MANAGER_LENGTH))
    elif (odd := _unprintable(manager)) is not None:
        causes.append(FieldError.invalid("fieldManager", manager, odd))
    validation = request.parameter("fieldValidation") or FieldValidation.WARN
    if validation not in _VALIDATIONS:
        causes.append(
            FieldError.not_supported("fieldValidation", validation, sorted(["", *FieldValidation]))
        )
    if causes:
        raise invalid_options(kind, causes)
    return WriteOptions(
        bool(dry_run),
        manager or _default_manager(request),
        _VALIDATIONS[validation],
        request.flag("force"),
        _as_sent(request, kind),
        request.user,
        request.work_size,
    )


def _as_sent(request: Request, kind: str) -> dict[str, Any]:
    sent: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    for name in ("fieldManager", "fieldValidation"):
        if value := request.parameter(name):
            sent[name] = as_utf8(value)
    if dry_run := request.query.get("dryRun"):
        sent["dryRun"] = dry_run
    return sent


def _default_manager(request: Request) -> str:
    """Return the field manager of a request that names none: the program in the User-Agent."""
    agent = request.headers.get("user-agent", "").partition("/")[0]
    shown = agent if agent.isprintable() else "".join(filter(str.isprintable, agent))
    return shown[:_MAX_MANAGER_LENGTH] or "unknown"


def delete_options(request: Request) -> DeleteOptions:
    """Read ``DeleteOptions`` from the body or, if there is none, from the query.

    Raises:
        FailedRequestError: 400 or 422, the options can't be read or contradict each other.
    """
    given = decode_options(request) if request.body else _delete_query(request)
    return read_delete_options(given, request)


def read_delete_options(given: dict[str, Any], request: Request) -> DeleteOptions:
    """Read ``DeleteOptions`` that a request holds.

    Raises:
        FailedRequestError: 400 or 422, the options can't be read or contradict each other.
    """
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
    if policy is not None and policy not in list(Propagation):
        causes.append(FieldError.not_supported("propagationPolicy", policy, _PROPAGATIONS))
    if causes:
        raise invalid_options("DeleteOptions", causes)
    if orphan is not None:
        policy = Propagation.ORPHAN if orphan else Propagation.BACKGROUND
    preconditions = sent.preconditions or _Preconditions()
    grace = sent.grace_period_seconds
    return DeleteOptions(
        bool(sent.dry_run),
        preconditions.uid,
        preconditions.resource_version,
        Propagation(policy) if policy else None,
        None if grace is None else grace if grace >= 0 else 1,
        {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
        | {
            key: value
            for key, value in given.items()
            if key not in ("kind", "apiVersion") and value not in (None, [], {}, "")
        },
        request.user,
    )


def _delete_query(request: Request) -> dict[str, Any]:
    """Return the query of a DELETE in the form of the body."""
    given: dict[str, Any] = {"dryRun": request.query.get("dryRun")}
    if "propagationPolicy" in request.query:
        given["propagationPolicy"] = request.parameter("propagationPolicy")
    if "orphanDependents" in request.query:
        given["orphanDependents"] = request.flag("orphanDependents")
    if "gracePeriodSeconds" in request.query:
        given["gracePeriodSeconds"] = parse_integer(request.parameter("gracePeriodSeconds"))
    given["preconditions"] = {
        name: value for name in ("uid", "resourceVersion") if (value := request.parameter(name))
    }
    return given


_MOST_REQUIREMENTS = 1000
"""Requirements of a selector, each of which is tried on each object and event."""

_VALUE_LIST = re.compile(r"\([^()]*\)")


def _check_requirements(kind: str, requirements: int) -> None:
    if requirements > _MOST_REQUIREMENTS:
        raise bad_request(f"a {kind} selector has at most {_MOST_REQUIREMENTS} requirements here")


def list_options(request: Request, *, watch: bool = False) -> ListQuery:
    """Read the ``ListOptions`` of a list or of a watch.

    Raises:
        FailedRequestError: 400, a selector or a number can't be parsed; 422, options contradict
            each other.
    """
    wanted = request.parameter("labelSelector")
    if len(wanted) > _MOST_REQUIREMENTS:  # parsing very many takes a second
        _check_requirements("label", _VALUE_LIST.sub("", wanted).count(",") + 1)
    try:
        labels = parse_label_selector(wanted)
        fields = parse_field_selector(request.parameter("fieldSelector"))
    except SelectorError as error:
        raise bad_request(str(error)) from error
    _check_requirements("field", len(fields.requirements))
    numbers = {
        name: parse_integer(request.parameter(name))
        for name in ("timeoutSeconds", "limit")
        if name in request.query
    }
    options = ListQuery(
        labels,
        fields,
        request.parameter("resourceVersion"),
        request.parameter("resourceVersionMatch"),
        max(0, numbers.get("limit", 0)),
        request.parameter("continue"),
        numbers.get("timeoutSeconds"),
        request.flag("allowWatchBookmarks"),
        request.flag("sendInitialEvents") if "sendInitialEvents" in request.query else None,
    )
    if causes := _watch_causes(options) if watch else _list_causes(options):
        raise invalid_options("ListOptions", causes)
    return options


_MATCH = "resourceVersionMatch"
_NO_CONTINUE = FieldError.forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")


def _list_causes(options: ListQuery) -> list[FieldError]:
    """Return the errors of a list's combinations of options."""
    match, version = options.match, options.resource_version
    causes = []
    if match:
        if not version:
            detail = f"{_MATCH} is forbidden unless resourceVersion is provided"
            causes.append(FieldError.forbidden(_MATCH, detail))
        if options.continue_token:
            causes.append(_NO_CONTINUE)
        if match not in ("Exact", "NotOlderThan"):
            causes.append(FieldError.not_supported(_MATCH, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and version == "0":
            detail = f'{_MATCH} "exact" is forbidden for resourceVersion "0"'
            causes.append(FieldError.forbidden(_MATCH, detail))
    if options.send_initial_events is not None:
        detail = "sendInitialEvents is forbidden for list"
        causes.append(FieldError.forbidden("sendInitialEvents", detail))
    return causes


def _watch_causes(options: ListQuery) -> list[FieldError]:
    """Return the errors of a watch's combinations of options."""
    match, initial = options.match, options.send_initial_events
    causes = []
    if initial is not None and match != "NotOlderThan":
        detail = f"sendInitialEvents requires setting {_MATCH} to NotOlderThan"
        causes.append(FieldError.forbidden(_MATCH, detail))
    if match:
        if initial is None:
            detail = f"{_MATCH} is forbidden for watch unless sendInitialEvents is provided"
            causes.append(FieldError.forbidden(_MATCH, detail))
        if match != "NotOlderThan":
            causes.append(FieldError.not_supported(_MATCH, match, ["NotOlderThan"]))
    from_beginning = initial is None and options.resource_version in ("", "0")
    if options.continue_token and (match or from_beginning):
        causes.append(_NO_CONTINUE)  # upstream sets the match of a watch from the beginning
    return causes


def is_long_running(attributes: Attributes) -> bool:
    """Return True for watches, logs and streams, which may take any time."""
    return attributes.verb == "watch" or attributes.subresource in _LONG_RUNNING


def check_timeout(request: Request) -> None:
    """Refuse a ``timeout`` parameter that is no duration; the value is not used.

    What is long-running has none.

    Raises:
        FailedRequestError: 400.
    """
    text = request.parameter("timeout")
    if not text:
        return
    if is_long_running(attributes_of(request)):
        return
    try:
        parse_go_duration(text)
    except ValueError as error:
        raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def parse_integer(text: str) -> int:
    """Read a number as the API's query decoder does.

    Raises:
        FailedRequestError: 400, it is none.
    """
    number = int(text) if _SIGNED.fullmatch(text) else None
    if number is None or not -(2**63) <= number < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return number
