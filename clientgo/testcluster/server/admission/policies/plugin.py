"""The admission policies of a cluster: which apply to a write, and what they do to it.

Promises: a policy without a binding does nothing, and CEL is loaded when the first policy applies.
Mutating policies run before mutating webhooks, validating ones before validating webhooks.

Does not promise an audit log: audit annotations are evaluated and not kept.

Upstream: apiserver ``admission/plugin/policy``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clientgo.meta.json_values import json_equal
from clientgo.testcluster.fields.managed_fields import DEDUCED, FieldType
from clientgo.testcluster.server.admission.expression_errors import ExpressionError
from clientgo.testcluster.server.admission.policies.constraints import Constraints
from clientgo.testcluster.server.admission.policies.params import ParamsError, params_of
from clientgo.testcluster.server.admission.reviews import LabelsOf, namespace_labels, request_of
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes, Authorizer
from clientgo.testcluster.server.auth.users import (
    User,
    service_account_groups,
    service_account_name,
)
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.objects.decoding import read_object
from clientgo.testcluster.server.objects.large_work import called_on_this_loop
from clientgo.testcluster.server.resources.errors import FailedRequestError, forbidden
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Change, Collection, Object, Storage

if TYPE_CHECKING:
    from clientgo.testcluster.cel.library.authorizers import Access, AccessDecision
    from clientgo.testcluster.server.admission.policies.expressions import Inputs
    from clientgo.testcluster.server.admission.policies.mutating import MutatingPolicy
    from clientgo.testcluster.server.admission.policies.validating import Refusal, ValidatingPolicy

_GROUP = "admissionregistration.k8s.io"
_VALIDATING, _MUTATING = "validatingadmissionpolicies", "mutatingadmissionpolicies"
_BINDINGS = {
    _VALIDATING: "validatingadmissionpolicybindings",
    _MUTATING: "mutatingadmissionpolicybindings",
}
_OWN = frozenset((*_BINDINGS, *_BINDINGS.values()))
_CODES = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


class _Policy:
    """A stored policy; its expressions are compiled when it is first used."""

    def __init__(self, obj: Object) -> None:
        self.name: str = obj["metadata"]["name"]
        self.spec: Mapping[str, Any] = obj["spec"]
        self.constraints = Constraints.parse(self.spec.get("matchConstraints") or {})
        self.fails = self.spec.get("failurePolicy") != "Ignore"

    @functools.cached_property
    def validating(self) -> ValidatingPolicy:
        from clientgo.testcluster.server.admission.policies.validating import (
            ValidatingPolicy,  # loads CEL
        )

        return ValidatingPolicy(self.spec)

    @functools.cached_property
    def mutating(self) -> MutatingPolicy:
        from clientgo.testcluster.server.admission.policies.mutating import (
            MutatingPolicy,  # loads CEL
        )

        return MutatingPolicy(self.spec)

    def refusals(self, inputs: Inputs) -> list[Refusal]:
        """Return why a write does not pass. Raises ``ExpressionError``."""
        return self.validating.refusals(inputs, fails=self.fails)

    def annotation_errors(self, inputs: Inputs) -> list[str]:
        """Return what is wrong with the audit annotations. Raises ``ExpressionError``."""
        return self.validating.annotation_errors(inputs)

    def mutate(self, inputs: Inputs, field_type: FieldType) -> Object:
        """Return the changed object. Raises ``ExpressionError``."""
        return self.mutating.mutate(inputs.obj, inputs, field_type)


class _Binding:
    """A stored binding."""

    def __init__(self, obj: Object) -> None:
        self.name: str = obj["metadata"]["name"]
        self.spec: Mapping[str, Any] = obj["spec"]
        self.constraints = Constraints.parse(self.spec.get("matchResources") or {})


class AdmissionPolicies:
    """The policies and bindings that are stored. On the event loop only."""

    def __init__(
        self,
        storage: Storage,
        registry: ResourceRegistry,
        labels_of: LabelsOf,
        authorizer: Authorizer,
    ) -> None:
        """Follow policies and bindings in ``storage``; ``labels_of`` knows the namespaces."""
        self._storage = storage
        self._registry = registry
        self._labels_of = labels_of
        self._authorizer = authorizer
        self._policies: dict[str, list[_Policy]] = {kind: [] for kind in _BINDINGS}
        self._bindings: dict[str, list[_Binding]] = {kind: [] for kind in _BINDINGS.values()}
        storage.observe(self._observe, *((_GROUP, plural) for plural in _OWN))

    def _observe(self, collection: Collection, _: Change) -> None:
        stored = (item.decode() for item in collection.scan())
        if collection.plural in self._policies:
            self._policies[collection.plural] = [_Policy(obj) for obj in stored]
        else:
            self._bindings[collection.plural] = [_Binding(obj) for obj in stored]

    def _matching(self, kind: str, review: Review) -> Iterator[tuple[_Policy, _Binding, Resource]]:
        """Yield the policies that match a write with their bindings, by name."""
        if not self._policies[kind]:
            return
        resource = review.resource
        if resource.group == _GROUP and resource.plural in _OWN:
            return
        versions = self._registry.versions_of(resource)
        labels = namespace_labels(review, self._labels_of)
        for policy in self._policies[kind]:
            matched = policy.constraints.matched_version(review, versions, labels)
            if matched is None:
                continue
            for binding in self._bindings[_BINDINGS[kind]]:
                if binding.spec.get("policyName") == policy.name and (
                    binding.constraints.matched_version(review, versions, labels) is not None
                ):
                    yield policy, binding, matched

    # -- validating

    async def validate(self, review: Review) -> None:
        """Let the validating policies refuse the write, or warn of it.

        Raises:
            FailedRequestError: one denies the write.
        """
        denials: list[tuple[str, str]] = []
        for policy, binding, matched in list(self._matching(_VALIDATING, review)):
            await self._validate(policy, binding, matched, review, denials)
        if denials:
            message, reason = denials[0]
            raise _denial(review, message, reason)

    async def _validate(
        self,
        policy: _Policy,
        binding: _Binding,
        matched: Resource,
        review: Review,
        denials: list[tuple[str, str]],
    ) -> None:
        """Add message and reason of each denial."""
        whose = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
        refusals: list[Refusal] = []
        annotated: list[str] = []
        try:
            for params in await self._params(policy, binding, review):
                inputs = await self._inputs(review, matched, params)
                try:
                    found = await review.work.evaluate(policy.refusals, inputs)
                    annotated += await review.work.evaluate(policy.annotation_errors, inputs)
                    refusals += found
                except ExpressionError as error:
                    refusals += [_refusal(str(error))] if policy.fails else []
        except ParamsError as error:
            if policy.fails:
                problem = f"failed to configure binding: {error}"
                denials.append((f"{whose} denied request: {problem}", "Invalid"))
            return
        actions = binding.spec.get("validationActions", ())
        for refusal in refusals:
            if "Warn" in actions:
                review.warnings.append(f"Validation failed for {whose}: {refusal.message}")
            if "Deny" in actions:
                denials.append((f"{whose} denied request: {refusal.message}", refusal.reason))
        if policy.fails:
            denials += [(f"{whose} denied request: {text}", "Invalid") for text in annotated]

    # -- mutating

    async def mutate(self, review: Review, *, again: bool = False) -> None:
        """Let the mutating policies change ``review.obj``.

        With ``again`` only those that want to see what webhooks have changed.

        Raises:
            FailedRequestError: one can't be evaluated, and its failurePolicy is Fail.
        """
        if review.obj is None:
            return
        invocations = list(self._matching(_MUTATING, review))
        problems: list[str] = []
        last_change = -1
        for index, invocation in enumerate(invocations):
            if again and not invocation[0].mutating.is_reinvoked:
                continue
            if await self._mutate(*invocation, review, problems):
                last_change = index
        for invocation in invocations[: max(last_change, 0)]:
            if invocation[0].mutating.is_reinvoked:
                await self._mutate(*invocation, review, problems)
        if problems:
            raise _denial(review, problems[0], "Invalid", problems)

    async def _mutate(
        self,
        policy: _Policy,
        binding: _Binding,
        matched: Resource,
        review: Review,
        problems: list[str],
    ) -> bool:
        """Return True if a policy has changed ``review.obj``; add why it could not."""

        before = review.obj
        field_type = matched.strategy.field_type(matched.api_version, matched.kind) or DEDUCED
        try:
            for params in await self._params(policy, binding, review):
                inputs = await self._inputs(review, matched, params)
                changed = await review.work.evaluate(policy.mutate, inputs, field_type)
                if not await review.work.run(json_equal, changed, inputs.obj):
                    read, _ = await review.work.run(read_object, matched, changed)
                    review.obj = await review.resource.from_version(read)
        except (ParamsError, ExpressionError, FailedRequestError) as error:
            if policy.fails:
                whose = f"policy '{policy.name}' with binding '{binding.name}'"
                problems.append(f"{whose} denied request: {error}")
        return review.obj is not before

    # -- what expressions see

    async def _params(
        self, policy: _Policy, binding: _Binding, review: Review
    ) -> list[Object | None]:
        return await params_of(
            self._storage,
            self._registry,
            policy.spec.get("paramKind"),
            binding.spec.get("paramRef"),
            review.namespace,
        )

    async def _inputs(self, review: Review, matched: Resource, params: Object | None) -> Inputs:
        from clientgo.testcluster.cel.library.authorizers import AuthorizerValue
        from clientgo.testcluster.server.admission.policies.expressions import Inputs  # loads CEL

        request = request_of(review, matched)
        del request["uid"]
        return Inputs(
            obj=None if review.obj is None else await matched.from_version(review.obj),
            old=None if review.old is None else await matched.from_version(review.old),
            request=request,
            namespace=self._namespace_of(review),
            params=params,
            authorizer=AuthorizerValue(
                called_on_this_loop(functools.partial(self._authorize, review.user))
            ),
        )

    def _namespace_of(self, review: Review) -> Object | None:
        key = ("", "namespaces")
        if not review.namespace or review.resource.collection_key == key:
            return None
        stored = self._storage.collection(key).get(review.namespace)
        if stored is None:
            return None
        namespace = stored.decode()
        namespace["metadata"].pop("managedFields", None)
        return {part: namespace[part] for part in ("metadata", "spec", "status")}

    def _authorize(self, user: User, access: Access) -> AccessDecision:
        from clientgo.testcluster.cel.library.authorizers import AccessDecision

        if access.account is not None:
            namespace, name = access.account
            groups = service_account_groups(namespace)
            user = User(service_account_name(namespace, name), groups=groups)
        decision = self._authorizer.authorize(
            Attributes(
                user,
                access.verb,
                access.group,
                "*",
                access.resource,
                access.subresource,
                access.namespace,
                access.name,
                access.path,
            )
        )
        return AccessDecision(decision.allowed, decision.reason)


def _refusal(message: str) -> Refusal:
    from clientgo.testcluster.server.admission.policies.validating import Refusal  # loads CEL

    return Refusal(message)


def _denial(
    review: Review, message: str, reason: str, causes: list[str] | None = None
) -> FailedRequestError:
    shown = [{"message": text} for text in causes or [message]]
    error = forbidden(review.resource, review.name, message, shown)
    error.reason, error.code = reason, _CODES.get(reason, 422)
    return error
