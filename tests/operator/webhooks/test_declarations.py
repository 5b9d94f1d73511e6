"""Decorators, and how what they declare is found and registered."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta import Resource, resource
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks import (
    AdmissionContext,
    AdmissionRequest,
    AdmissionResponse,
    FieldErrors,
    Webhooks,
    default,
    defaulting,
    mutate_raw,
    path,
    validate,
    validating,
)
from clientgo.operator.webhooks.admission_review import Operation
from tests.operator.webhooks.reviews import Foo, foo, review
from tests.operator.webhooks.serving import Asked
from tests.operator.webhooks.versions import FromAlpha


@resource(version="v1", plural="pods")
class Pod(Resource):
    pass


@resource(group="apps", version="v1", plural="deployments")
class Deployment(Resource):
    pass


def nothing(*_: Any) -> None:
    pass


def manifest_of(handler: Any) -> Any:
    webhooks = Webhooks()
    webhooks.register(handler)
    (manifest,) = webhooks.manifests
    return manifest


@pytest.mark.parametrize(
    ("kind", "mutating", "validating_"),
    [
        (Foo, "/mutate-demo-example-com-v1-foo", "/validate-demo-example-com-v1-foo"),
        (Pod, "/mutate--v1-pod", "/validate--v1-pod"),
        (Deployment, "/mutate-apps-v1-deployment", "/validate-apps-v1-deployment"),
    ],
)
def test_the_path_follows_from_the_kind(
    kind: type[Resource], mutating: str, validating_: str
) -> None:
    """OP-WHK-02"""
    assert manifest_of(default(kind)(lambda *_: None)).path == mutating
    assert manifest_of(validate(kind)(lambda *_: None)).path == validating_


def test_a_path_can_be_given() -> None:
    """OP-WHK-02"""
    assert manifest_of(default(Foo, path="/custom")(lambda obj, ctx: None)).path == "/custom"


def test_two_webhooks_on_one_path_are_refused_when_they_are_registered() -> None:
    """OP-WHK-02"""
    webhooks = Webhooks()
    webhooks.register(default(Foo)(lambda obj, ctx: None))

    with pytest.raises(DeclarationError, match=r"both at '/mutate-demo-example-com-v1-foo'"):
        webhooks.register(default(Foo)(lambda obj, ctx: None))


def test_the_manifest_has_the_defaults_of_a_cautious_operator() -> None:
    """OP-WHK-14, OP-WHK-18"""
    manifest = manifest_of(validate(Foo)(lambda *_: None))

    assert manifest.name == "vfoo.demo.example.com"
    assert manifest.mutating is False
    assert (manifest.groups, manifest.versions) == (("demo.example.com",), ("v1",))
    assert manifest.resources == ("foos",)
    assert manifest.operations == (Operation.CREATE, Operation.UPDATE)
    assert (manifest.failure_policy, manifest.side_effects) == ("Fail", "None")
    assert (manifest.timeout_seconds, manifest.match_policy) == (10, "Equivalent")
    assert manifest.admission_review_versions == ("v1",)
    assert manifest.reinvocation_policy == "Never"


def test_every_parameter_of_the_manifest_can_be_declared() -> None:
    """OP-WHK-18"""
    manifest = manifest_of(
        default(
            Foo,
            name="mfoo.kb.io",
            resources=["foos", "foos/status"],
            scope="Namespaced",
            failure_policy="Ignore",
            side_effects="NoneOnDryRun",
            timeout_seconds=5,
            match_policy="Exact",
            namespace_selector={"matchLabels": {"a": "b"}},
            object_selector={"matchLabels": {"c": "d"}},
            match_conditions=[{"name": "x", "expression": "true"}],
            reinvocation_policy="IfNeeded",
            admission_review_versions=["v1", "v1beta1"],
        )(lambda obj, ctx: None)
    )

    assert (manifest.name, manifest.mutating) == ("mfoo.kb.io", True)
    assert manifest.resources == ("foos", "foos/status")
    assert manifest.namespace_selector == {"matchLabels": {"a": "b"}}
    assert manifest.match_conditions == ({"name": "x", "expression": "true"},)
    assert (manifest.timeout_seconds, manifest.reinvocation_policy) == (5, "IfNeeded")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"timeout_seconds": 31}, "timeout_seconds is 31"),
        ({"failure_policy": "Maybe"}, "failure_policy is 'Maybe'"),
        ({"side_effects": "Some"}, "side_effects is 'Some'"),
        ({"name": "foo"}, "at least three parts"),
        ({"path": "nowhere"}, "does not begin with a slash"),
        ({"on": []}, "names no operation"),
        ({"on": ["FLY"]}, "'FLY' is not a valid Operation"),
        ({"reinvocation_policy": "IfNeeded"}, "only a mutating webhook"),
        ({"admission_review_versions": ["v2"]}, "admission_review_versions"),
        ({"failurePolicy": "Fail"}, "the options are .*failure_policy"),
    ],
)
def test_what_cannot_be_registered_is_refused_where_it_is_declared(
    options: dict[str, Any], complaint: str
) -> None:
    """OP-WHK-18"""
    with pytest.raises(DeclarationError, match=complaint):
        validate(Foo, **options)


def test_methods_of_an_object_and_of_a_class_are_found_and_bound() -> None:
    class Hooks:
        def __init__(self, replicas: int = 4) -> None:
            self.replicas = replicas

        @default(Foo)
        def fill_in(self, obj: Foo, ctx: AdmissionContext) -> None:
            obj.spec.replicas = self.replicas

        @validate(Foo)
        def check(self, obj: Foo, old: Foo | None, ctx: AdmissionContext) -> None: ...

    mutate = "/mutate-demo-example-com-v1-foo"

    of_class = Asked(Hooks).ask(review("CREATE", foo()), path=mutate)
    of_object = Asked(Hooks(5)).ask(review("CREATE", foo()), path=mutate)
    of_method = Asked(Hooks(6).fill_in).ask(review("CREATE", foo()))

    patches = [verdict.patch[0]["value"] for verdict in (of_class, of_object, of_method)]
    assert patches == [4, 5, 6]


@pytest.mark.parametrize("handler", [nothing, object(), dict])
def test_what_declares_nothing_is_refused(handler: Any) -> None:
    with pytest.raises(DeclarationError, match="declares no webhook"):
        Webhooks().register(handler)


def test_a_class_that_needs_arguments_is_refused_with_the_way_out() -> None:
    class Hooks:
        def __init__(self, client: Any) -> None: ...

        @default(Foo)
        def fill_in(self, obj: Foo, ctx: AdmissionContext) -> None: ...

    with pytest.raises(DeclarationError, match="register an instance instead"):
        Webhooks().register(Hooks)


@pytest.mark.parametrize(
    ("handler", "call"),
    [
        (default(Foo)(lambda obj: None), r"\(obj, ctx\): too many positional"),
        (validate(Foo)(lambda obj, ctx: None), r"\(obj, old, ctx\): too many positional"),
        (default(Foo)(lambda obj, ctx, more: None), "missing a required argument: 'more'"),
    ],
)
def test_a_function_that_cannot_be_called_so_is_refused_when_it_is_registered(
    handler: Any, call: str
) -> None:
    """OP-WHK-05"""
    with pytest.raises(DeclarationError, match=call):
        Webhooks().register(handler)


def test_handlers_that_share_a_path_must_be_for_the_same_objects() -> None:
    """OP-WHK-10"""
    with pytest.raises(DeclarationError, match="cannot share '/x': mutating"):
        Webhooks().register(
            default(Foo)(lambda obj, ctx: None), validate(Foo)(lambda *_: None), path="/x"
        )


def test_a_shared_path_is_registered_for_the_operations_of_all() -> None:
    """OP-WHK-10"""
    webhooks = Webhooks()
    webhooks.register(
        validate(Foo, on=[Operation.DELETE])(lambda *_: None),
        validate(Foo, on=[Operation.CREATE])(lambda *_: None),
        path="/x",
    )

    (manifest,) = webhooks.manifests
    assert (manifest.path, manifest.operations) == ("/x", (Operation.CREATE, Operation.DELETE))


class Reconciler:
    """What a controller has, too."""

    def validate(self, obj: Foo, old: Foo | None, op: Operation) -> FieldErrors:
        errors = FieldErrors()
        if (obj.spec.replicas or 0) > 10:
            errors.invalid(path("spec", "replicas"), obj.spec.replicas, f"too many to {op}")
        return errors

    def initialise(self, obj: Foo) -> bool:
        if obj.spec.replicas is not None:
            return False
        obj.spec.replicas = 2
        return True


def test_the_rules_of_a_reconciler_can_be_published() -> None:
    """OP-WHK-17, BP-03"""
    asked = Asked(validating(Reconciler(), Foo))

    assert asked.ask(review("CREATE", foo(replicas=1))).allowed
    refused = asked.ask(review("CREATE", foo(replicas=11)))
    assert (refused.allowed, refused.code) == (False, 422)
    assert "too many to CREATE" in refused.status.message


def test_the_initialisation_of_a_reconciler_can_be_published() -> None:
    """BP-06"""
    asked = Asked(defaulting(Reconciler(), Foo))

    assert asked.ask(review("CREATE", foo())).patch[0]["value"] == 2
    assert asked.ask(review("CREATE", foo(replicas=5))).patch == []


def test_a_raw_handler_says_itself_what_it_is_registered_for() -> None:
    """OP-WHK-18"""

    @mutate_raw(
        "/pods",
        name="pods.demo.example.com",
        groups=[""],
        versions=["v1"],
        resources=["pods"],
        operations=[Operation.CREATE],
        failure_policy="Ignore",
    )
    def raw(request: AdmissionRequest) -> AdmissionResponse:
        return AdmissionResponse.allow()

    manifest = manifest_of(raw)

    assert (manifest.path, manifest.mutating, manifest.groups) == ("/pods", True, ("",))
    assert (manifest.operations, manifest.failure_policy) == ((Operation.CREATE,), "Ignore")


def test_a_webhook_that_fails_closed_can_leave_the_namespace_of_the_operator_out() -> None:
    """OP-WHK-19"""
    chosen = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    manifest = manifest_of(validate(Foo, namespace_selector=chosen)(lambda *_: None))
    elsewhere = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["system"]}

    assert manifest.excluding("system").namespace_selector == {
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "c", "operator": "Exists"}, elsewhere],
    }
    assert manifest.namespace_selector == chosen


def test_a_webhook_that_fails_open_includes_the_namespace_of_the_operator() -> None:
    """OP-WHK-19"""
    manifest = manifest_of(validate(Foo, failure_policy="Ignore")(lambda *_: None))

    assert manifest.excluding("system") is manifest


def test_a_collection_knows_whether_there_is_anything_to_serve() -> None:
    admission, conversions = Webhooks(), Webhooks()
    assert admission.is_empty()

    admission.register(validate(Foo)(lambda *_: None))
    conversions.register(FromAlpha)

    assert not admission.is_empty()
    assert not conversions.is_empty()
