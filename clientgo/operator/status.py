"""Status: what the framework keeps there, and helpers for users.

Promises ``observedGeneration`` after every run that succeeded, in the request that writes the
status, or in one of its own if that is the only change.

Source: Java Operator SDK ObservedGenerationAware; apimachinery api/meta SetStatusCondition.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, get_args, get_type_hints

from clientgo.api.meta_v1 import Condition as Condition
from clientgo.meta import Model, metadata_of
from clientgo.meta.markers import ListMap
from clientgo.meta.timestamps import format_time
from clientgo.operator.errors import DeclarationError
from clientgo.util.clock import REAL_CLOCK, Clock


class ObservedGeneration(Model):
    """Base of a status type: the framework notes which generation was reconciled last. It does so
    in any status with this field."""

    observed_generation: int | None = None


class Conditioned(ObservedGeneration):
    """Base of a status type with conditions, see :func:`set_condition`.

    The generation is noted as well: a struct cannot have two bases with fields.
    :class:`~clientgo.operator.status_report.ReportedStatus` also says how the last run ended.
    """

    conditions: Annotated[list[Condition], ListMap("type")] = []


_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_LONGEST_REASON: Final = 1024
_LONGEST_MESSAGE: Final = 32768


def set_condition(
    conditions: list[Condition],
    type: str,  # noqa: A002 - its name in the API
    status: bool | None,
    reason: str,
    message: str = "",
    *,
    generation: int | None = None,
    clock: Clock = REAL_CLOCK,
) -> bool:
    """Set a condition, of which there is one of each type; return True if anything changed.

    In a run use ``ctx.set_condition``, which knows the clock and the generation. The transition
    time changes only with the status. ``status`` None is Unknown. Raises ``ValueError`` for a
    reason or message that the API server would refuse, ``TypeError`` for another argument.
    """
    if not isinstance(conditions, list):
        raise TypeError(
            f"conditions is the list to change, as obj.status.conditions, not {conditions!r:.100}"
        )
    if not isinstance(status, bool | None):
        raise TypeError(f"the status of a condition is True, False or None, not {status!r:.100}")
    if len(reason) > _LONGEST_REASON or not _REASON.fullmatch(reason):
        raise ValueError(f"a reason is one CamelCase word of at most 1024 letters, not {reason!r}")
    if len(message) > _LONGEST_MESSAGE:
        raise ValueError(f"a message has at most {_LONGEST_MESSAGE} letters, not {len(message)}")
    text = "Unknown" if status is None else str(status)
    wanted = Condition(
        type=type,
        status=text,
        reason=reason,
        message=message,
        observed_generation=generation,
        last_transition_time=format_time(clock.time()),
    )
    for index, known in enumerate(conditions):
        if known.type == type:
            if known.status == text:
                wanted.last_transition_time = known.last_transition_time
            if known == wanted:
                return False
            conditions[index] = wanted
            return True
    conditions.append(wanted)
    return True


def condition(
    conditions: list[Condition],
    type: str,  # noqa: A002 - its name in the API
) -> Condition | None:
    """Return the condition of a type, or None."""
    return next((known for known in conditions if known.type == type), None)


def status_type_of(kind: type[Any]) -> type[Any] | None:
    """Return the class of a kind's status, or None if it has no status, or none that is a class."""
    body = getattr(kind, "__body__", None)
    if body is None or "status" not in body.__struct_fields__:
        return None
    hint = get_type_hints(body).get("status")
    candidates = [part for part in (get_args(hint) or (hint,)) if isinstance(part, type)]
    return next((part for part in candidates if part is not type(None)), None)


def has_status_fields(kind: Any, fields: type[Model]) -> bool:
    """Return True if a kind's status has all fields of a type; a struct has one base only."""
    has = getattr(status_type_of(kind), "__struct_fields__", ())
    return bool(has) and set(fields.__struct_fields__) <= set(has)


def status_of(obj: Any) -> Any:
    """Return the status of an object about to be written, made if there is none."""
    if obj.status is None:
        status_type = status_type_of(type(obj))
        assert status_type is not None
        obj.status = status_type()
    return obj.status


def check_new_status(kind: type[Any], controller: str) -> None:
    """Raise ``DeclarationError`` if the kind has a status, and none can be made.

    A kind whose objects always have one, as built-in kinds, needs no new status.
    """
    status_type = status_type_of(kind)
    if status_type is None or type(None) not in get_args(get_type_hints(kind.__body__)["status"]):
        return
    try:
        status_type()
    except TypeError as error:
        raise DeclarationError(
            f"controller {controller}: the status of a new {kind.__name__} is made by "
            f"{status_type.__name__}() ({error}); give each of its fields a default"
        ) from None


def object_reference(obj: Any) -> dict[str, str]:
    """What identifies an object, as statuses list it."""
    metadata = metadata_of(obj)
    reference = {
        "apiVersion": obj.api_version,
        "kind": obj.kind,
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }
    return {name: value for name, value in reference.items() if value}
