"""Every public object, error and value is copied and pickled, or says why not."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple

import pytest

from clientgo.cache import (
    FilteringHandler,
    HandlerFuncs,
    ListPager,
    ListWatch,
    ResourceEventHandler,
)
from clientgo.client import NoMatchError
from clientgo.leaderelection import LeaderElectionConfig, Timing
from clientgo.meta import (
    Codec,
    ExplicitKey,
    NotFoundError,
    ObjectMeta,
    PartialObjectMetadata,
    Quantity,
    Resource,
    Scheme,
    Status,
    StatusError,
)
from clientgo.meta.validation.field_errors import FieldError
from clientgo.observe.logs import ContextFilter, JSONFormatter, TextFormatter
from clientgo.observe.metrics import NO_METRICS
from clientgo.observe.trace import Tracer
from clientgo.operator import Predicate
from clientgo.operator.addons.dependents import Dependent
from clientgo.operator.errors import LeadershipLostError, SeveralErrors
from clientgo.operator.webhooks import FieldErrors, Operation, WebhookManifest
from clientgo.rest import EndedWatch, Identity, RestConfig, StaticCredentials, TransportTimeoutError
from clientgo.testcluster.cel import STRING, Environment
from clientgo.testcluster.fields.managed_fields import DEDUCED, UNTYPED, FieldSet
from clientgo.testcluster.schema import SchemaError
from clientgo.testing.bench import Stopwatch
from clientgo.util.clock import REAL_CLOCK, RealClock
from clientgo.util.copies import CopyableError, ForeignError
from clientgo.util.flowcontrol import AlwaysRateLimiter
from clientgo.util.wait import DEFAULT_RETRY, BackoffSteps
from clientgo.workqueue import FIFO, DueHeap
from tests.util.copies.public_names import (
    contents,
    is_record,
    public_classes,
    public_names,
    record_of,
    refuses,
)

WAYS: Final[dict[str, Callable[[Any], Any]]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle protocol {protocol}": lambda value, protocol=protocol: pickle.loads(
            pickle.dumps(value, protocol)
        )
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


def function(*_: object) -> None:
    """What a value that holds a function may hold."""


def a_field_error() -> FieldErrors:
    errors = FieldErrors()
    errors.required("spec.name")
    return errors


class Lock(NamedTuple):
    identity: str


TIMING: Final = Timing(lease_duration=15, renew_deadline=10, retry_period=2)

EXAMPLES: Final[dict[type, Callable[[], Any]]] = {
    AlwaysRateLimiter: AlwaysRateLimiter,
    BackoffSteps: lambda: BackoffSteps(DEFAULT_RETRY, random=function),  # type: ignore[arg-type]
    Codec: lambda: Codec(PartialObjectMetadata),
    ContextFilter: ContextFilter,
    Dependent: Dependent,
    DueHeap: DueHeap,
    EndedWatch: EndedWatch,
    Environment: lambda: Environment({"name": STRING}),
    ExplicitKey: lambda: ExplicitKey("a/b"),
    FIFO: FIFO,
    FieldErrors: a_field_error,
    FieldSet: FieldSet,
    FilteringHandler: lambda: FilteringHandler(function, HandlerFuncs(on_add=function)),  # type: ignore[arg-type]
    HandlerFuncs: lambda: HandlerFuncs(on_add=function),
    JSONFormatter: JSONFormatter,
    LeaderElectionConfig: lambda: LeaderElectionConfig(
        timing=TIMING,
        on_started_leading=function,
        on_stopped_leading=function,
        lock=Lock("me"),  # type: ignore[arg-type]
    ),
    ListPager: lambda: ListPager(function),  # type: ignore[arg-type]
    ListWatch: lambda: ListWatch(function, function),  # type: ignore[arg-type]
    Predicate: Predicate,
    Quantity: lambda: Quantity("1Gi"),
    RealClock: RealClock,
    Resource: lambda: PartialObjectMetadata(metadata=ObjectMeta(name="a")),
    RestConfig: lambda: RestConfig(server="https://host"),
    ResourceEventHandler: ResourceEventHandler,
    Scheme: lambda: Scheme([PartialObjectMetadata]),
    StaticCredentials: lambda: StaticCredentials(Identity(authorization="Bearer x")),
    Stopwatch: Stopwatch,
    TextFormatter: TextFormatter,
    Timing: lambda: TIMING,
    Tracer: Tracer,
    WebhookManifest: lambda: WebhookManifest(
        name="a.example.com",
        path="/a",
        mutating=False,
        groups=("apps",),
        versions=("v1",),
        resources=("deployments",),
        operations=(Operation.CREATE,),
    ),
}
"""An object of each class that cannot be made from texts."""

CLASSES: Final = public_classes()


def example_of(cls: Any) -> Any:
    if cls in EXAMPLES:
        return EXAMPLES[cls]()
    if issubclass(cls, Enum):
        return next(iter(cls))
    if issubclass(cls, BaseException):
        return error_of(cls)
    if is_record(cls):
        return record_of(cls)
    raise AssertionError(f"add an example of {cls}, or decorate it with @uncopyable")


def error_of(cls: Any) -> BaseException:
    """An error with a cause, a note and an attribute, whatever its constructor takes."""
    error: BaseException = cls.__new__(cls)
    error.args = ("what happened",)
    error.__cause__ = KeyError("why")
    error.add_note("a note")
    error.where = ["here"]  # type: ignore[attr-defined]
    if isinstance(error, StatusError):
        error.status = Status(code=404, message="gone")
    if isinstance(error, SchemaError):
        error.causes = (FieldError.required("spec", "why"),)
    return error


def held_by(value: Any) -> Any:
    if not isinstance(value, BaseException):
        return contents(value)
    return type(value), str(value), value.args, vars(value), repr(value.__cause__)


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if not refuses(cls)])
def test_a_public_object_equals_its_copies(name: str) -> None:
    original = example_of(CLASSES[name])

    for make in WAYS.values():
        assert held_by(make(original)) == held_by(original)


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if refuses(cls)])
def test_a_live_object_says_why_it_is_not_pickled(name: str) -> None:
    cls = CLASSES[name]

    with pytest.raises(TypeError, match=f"^a {cls.__name__} cannot be (copied or )?pickled: it"):
        pickle.dumps(cls.__new__(cls))


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if refuses(cls)])
def test_a_copy_of_a_live_object_is_refused_and_of_an_immutable_one_itself(name: str) -> None:
    cls = CLASSES[name]
    original = cls.__new__(cls)

    for make in (copy.copy, copy.deepcopy):
        try:
            assert make(original) is original
        except TypeError as error:
            assert f"a {cls.__name__} cannot be copied or pickled: it" in str(error)  # noqa: PT017


@pytest.mark.parametrize("value", [REAL_CLOCK, NO_METRICS, DEDUCED, UNTYPED])
def test_a_value_that_is_compared_by_identity_stays_itself(value: Any) -> None:
    assert {name for name, make in WAYS.items() if make(value) is not value} == set()


def test_the_other_public_values_equal_their_copies() -> None:
    values = {
        name: value
        for name, value in public_names().items()
        if not isinstance(value, type) and not inspect.ismodule(value)
    }

    different = {
        (name, way)
        for name, value in values.items()
        for way, make in WAYS.items()
        if contents(make(value)) != contents(value)
    }

    assert different == set()


def raised(error: Exception, cause: BaseException) -> Exception:
    """An error as it is after it was raised."""
    try:
        try:
            raise cause
        except type(cause) as reason:
            error.add_note("the first note")
            raise error from reason
    except Exception as caught:
        return caught


class StubbornError(Exception):
    """One of another library, which pickle makes again without what it needs."""

    def __init__(self, pool: str, *, why: str) -> None:
        super().__init__(f"{pool}: {why}")


@pytest.mark.parametrize("way", [name for name in WAYS if "pickle" in name])
def test_a_cause_that_cannot_be_pickled_is_replaced_by_its_text(way: str) -> None:
    timeout = TransportTimeoutError("GET", "http://x/api", "slow")
    error = raised(timeout, StubbornError("x", why="busy"))

    duplicate = WAYS[way](error)

    assert str(duplicate) == "GET http://x/api: slow"
    assert (duplicate.method, duplicate.url) == ("GET", "http://x/api")
    assert duplicate.__notes__ == ["the first note"]
    assert type(duplicate.__cause__) is ForeignError
    assert str(duplicate.__cause__) == "StubbornError: x: busy"


@pytest.mark.parametrize("way", ["copy", "deepcopy"])
def test_a_copied_error_shares_its_cause(way: str) -> None:
    error = raised(NoMatchError("no such kind"), StubbornError("x", why="busy"))

    assert WAYS[way](error).__cause__ is error.__cause__


def test_a_chain_of_causes_is_kept_to_its_end() -> None:
    middle = raised(NoMatchError("no such kind"), OSError(2, "no file", "a.json"))
    error = raised(CopyableError("not discovered"), middle)

    duplicate = pickle.loads(pickle.dumps(error))

    assert repr(duplicate.__cause__) == "NoMatchError('no such kind')"
    assert str(duplicate.__cause__.__cause__) == "[Errno 2] no file: 'a.json'"
    assert duplicate.__suppress_context__


def test_an_error_that_holds_foreign_errors_is_pickled_with_their_texts() -> None:
    error = SeveralErrors({"a": StubbornError("x", why="busy"), "b": ValueError("bad")})

    duplicate = pickle.loads(pickle.dumps(error))

    assert str(duplicate) == "a: x: busy; b: bad"
    assert repr(duplicate.errors) == (
        "{'a': ForeignError('StubbornError: x: busy'), 'b': ValueError('bad')}"
    )


def test_a_group_of_errors_is_pickled() -> None:
    group = ExceptionGroup("two", [NotFoundError.of("gone", name="a"), LeadershipLostError("lost")])

    duplicate = pickle.loads(pickle.dumps(group))

    gone, lost = duplicate.exceptions
    assert (gone.code, gone.status.details.name) == (404, "a")
    assert (str(lost), lost.code) == ("lost", "lost")


def test_the_error_of_a_connection_still_has_its_text() -> None:
    """OSError shows its errno and file name once they are set, to None too."""
    error = TransportTimeoutError("GET", "http://x", "slow")

    assert {str(make(error)) for make in WAYS.values()} == {"GET http://x: slow"}
