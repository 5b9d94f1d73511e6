"""How a webhook is registered with the API server: values, from which YAML is made.

An option that the API server would refuse is refused when the webhook is declared.

Upstream: controller-tools ``pkg/webhook`` Config, the fields of ``+kubebuilder:webhook``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Self, TypedDict, get_args

from clientgo.meta import APIResource
from clientgo.operator.errors import DeclarationError
from clientgo.operator.webhooks.admission_review import Operation

FailurePolicy = Literal["Fail", "Ignore"]
SideEffects = Literal["None", "NoneOnDryRun"]
MatchPolicy = Literal["Equivalent", "Exact"]
ReinvocationPolicy = Literal["Never", "IfNeeded"]
RuleScope = Literal["*", "Namespaced", "Cluster"]

_TIMEOUTS: Final = range(1, 31)
_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""The API server sets it on every namespace."""

_VERSIONS: Final = ("v1", "v1beta1")


class RegistrationOptions(TypedDict, total=False):
    """Options of the registration, for every decorator."""

    scope: RuleScope
    failure_policy: FailurePolicy
    side_effects: SideEffects
    timeout_seconds: int
    match_policy: MatchPolicy
    namespace_selector: Mapping[str, Any]
    object_selector: Mapping[str, Any]
    match_conditions: Sequence[Mapping[str, str]]
    reinvocation_policy: ReinvocationPolicy
    admission_review_versions: Sequence[str]


class ManifestOptions(RegistrationOptions, total=False):
    """Further options of the decorators for a kind; the rest follows from the kind.

    ``resources`` is for webhooks of subresources, such as ``["foos/status"]``.
    """

    name: str
    resources: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookManifest:
    """One webhook of a configuration. Immutable. Raises ``DeclarationError`` for bad values.

    ``side_effects`` "None" is a promise that the handler changes nothing but the reviewed object;
    a handler that does must use "NoneOnDryRun" and check ``ctx.dry_run``. ``name`` is a domain name
    of at least three parts. The API server waits ``timeout_seconds`` for a call, 1 to 30.
    """

    name: str
    path: str
    mutating: bool
    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[Operation, ...]
    scope: RuleScope = "*"
    failure_policy: FailurePolicy = "Fail"
    side_effects: SideEffects = "None"
    timeout_seconds: int = 10
    match_policy: MatchPolicy = "Equivalent"
    namespace_selector: Mapping[str, Any] | None = None
    object_selector: Mapping[str, Any] | None = None
    match_conditions: tuple[Mapping[str, str], ...] = ()
    reinvocation_policy: ReinvocationPolicy = "Never"
    admission_review_versions: tuple[str, ...] = ("v1",)

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            self._refuse(f"path {self.path!r} does not begin with a slash")
        if self.name.count(".") < 2:
            self._refuse("its name must be a domain of at least three parts, like mfoo.example.com")
        if self.timeout_seconds not in _TIMEOUTS:
            self._refuse(f"timeout_seconds is {self.timeout_seconds}; it must be 1 to 30")
        if not self.operations:
            self._refuse("it names no operation")
        if not set(self.admission_review_versions) & set(_VERSIONS):
            self._refuse(f"admission_review_versions must name one of {', '.join(_VERSIONS)}")
        if self.reinvocation_policy != "Never" and not self.mutating:
            self._refuse("only a mutating webhook can be reinvoked")
        for option, values in _CHOICES.items():
            if (value := getattr(self, option)) not in values:
                self._refuse(f"{option} is {value!r}; it must be one of {', '.join(values)}")

    def excluding(self, namespace: str) -> WebhookManifest:
        """Return the same for all namespaces but ``namespace``, that of the operator's pods.

        Otherwise a webhook that fails closed would refuse the very pod that answers it. A webhook
        that fails open is returned as it is.
        """
        if self.failure_policy == "Ignore":
            return self
        selector = dict(self.namespace_selector or {})
        elsewhere = {"key": _NAMESPACE_LABEL, "operator": "NotIn", "values": [namespace]}
        selector["matchExpressions"] = [*selector.get("matchExpressions", ()), elsewhere]
        return replace(self, namespace_selector=selector)

    def _refuse(self, why: str) -> None:
        raise DeclarationError(f"webhook {self.name!r} at {self.path!r}: {why}")


_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "scope": get_args(RuleScope),
    "failure_policy": get_args(FailurePolicy),
    "side_effects": get_args(SideEffects),
    "match_policy": get_args(MatchPolicy),
    "reinvocation_policy": get_args(ReinvocationPolicy),
}


def default_path(resource: APIResource, *, mutating: bool) -> str:
    """Return the path of a kind's webhook in kubebuilder's projects."""
    group = resource.group.replace(".", "-")
    verb = "mutate" if mutating else "validate"
    return f"/{verb}-{group}-{resource.version}-{resource.kind.lower()}"


def default_name(resource: APIResource, *, mutating: bool) -> str:
    """Return a name such as ``mfoo.example.com``; groups of Kubernetes get a domain."""
    group = resource.group if "." in resource.group else f"{resource.group or 'core'}.k8s.io"
    return f"{'m' if mutating else 'v'}{resource.kind.lower()}.{group}"


def tuples(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with tuples instead of lists."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in options.items()
    }


def manifest_of(
    resource: APIResource,
    *,
    mutating: bool,
    path: str | None,
    operations: Sequence[Operation],
    options: ManifestOptions,
) -> WebhookManifest:
    """Return the registration of a webhook for one kind."""
    values = tuples(options)
    values.setdefault("name", default_name(resource, mutating=mutating))
    values.setdefault("resources", (resource.plural,))
    try:
        return WebhookManifest(
            path=path if path is not None else default_path(resource, mutating=mutating),
            mutating=mutating,
            groups=(resource.group,),
            versions=(resource.version,),
            operations=tuple(operations),
            **values,
        )
    except TypeError as error:
        raise DeclarationError(
            f"webhook for {resource.kind}: {error}; "
            f"the options are {', '.join(sorted(ManifestOptions.__optional_keys__))}"
        ) from None


class WebhookObjectNames(NamedTuple):
    """Names of the objects around an operator's webhooks, for manifests and certificates."""

    service: str
    secret: str
    certificate: str
    mutating: str
    validating: str

    @classmethod
    def of(cls, operator: str) -> Self:
        """Return the names of kubebuilder with the operator's name before them."""
        return cls(
            service=f"{operator}-webhook",
            secret=f"{operator}-webhook-cert",
            certificate=f"{operator}-serving-cert",
            mutating=f"{operator}-mutating-webhook-configuration",
            validating=f"{operator}-validating-webhook-configuration",
        )
