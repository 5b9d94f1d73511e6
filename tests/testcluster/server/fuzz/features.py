"""Requests for features that need several fields to fit: random objects rarely reach them.

Each function returns a request with a body that works, mostly; the source adds mistakes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.testcluster.server.fuzz.expressions import PATTERNS, RULES, SPEC_RULES
from tests.testcluster.server.fuzz.objects import CRDS
from tests.testcluster.server.fuzz.values import NAMES

GADGETS = "/apis/example.com/v1/gadgets"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_CORE = "/api/v1/namespaces/default"

REVIEWS = [
    f"/apis/{path}"
    for path in (
        "authorization.k8s.io/v1/subjectaccessreviews",
        "authorization.k8s.io/v1/selfsubjectaccessreviews",
        "authorization.k8s.io/v1/selfsubjectrulesreviews",
        "authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
        "authentication.k8s.io/v1/tokenreviews",
        "authentication.k8s.io/v1/selfsubjectreviews",
    )
]
"""What is answered but not stored."""

USERS = ["jane", "system:serviceaccount:default:default", "system:anonymous", "", "é", "system:"]
GROUPS = ["system:masters", "system:authenticated", "system:serviceaccounts", "dev", ""]


class Draft(NamedTuple):
    """A request whose body may get mistakes.

    A webhook's ``clientConfig`` with ``odd`` stands for that of an odd webhook, see `webhooks`.
    """

    method: str
    path: str
    body: Any


Feature = Callable[[random.Random], Draft]

_VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate", "*"]
_RESOURCES = ["pods", "pods/log", "configmaps", "secrets", "deployments", "deployments/scale", "*"]
_TARGETS = [("", "configmaps"), ("", "pods"), ("apps", "deployments"), ("example.com", "gadgets")]

_EXPRESSIONS = [
    *(
        "object.metadata.name != 'c'",
        "has(object.spec) && object.spec.replicas < 5",
        "oldObject == null || object.data == oldObject.data",
        "request.userInfo.username != 'jane'",
        "request.operation in ['CREATE', 'UPDATE']",
        "params.data.k == 'v'",
        "params == null || has(params.data)",
        "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
        "authorizer.path('/healthz').check('get').allowed()",
        "variables.x > 1",
        "namespaceObject.metadata.name == 'default'",
        "object.metadata.labels.all(k, k.startsWith('a'))",
        "object.spec.containers.all(c, c.image.matches('^[a-z]+$'))",
        "object.data.map(k, object.data[k]).exists(v, quantity(v).isGreaterThan(quantity('1')))",
        "object.x.y.z == 1",
        "dyn(object).spec.size > 3",
    ),
    *(rule.replace("self", "object") for rule in (*RULES, *SPEC_RULES)),
]
_MUTATIONS = [
    "Object{metadata: Object.metadata{labels: {'m': 'x'}}}",
    "Object{data: {'m': object.metadata.name}}",
    "Object{spec: Object.spec{replicas: 3}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers.item{name: 'c', image: 'x'}]}}",
    "Object{metadata: Object.metadata{name: 'x'}}",
    "Object{nope: 1}",
    "{}",
    "1",
]
_OPERATIONS = [
    "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'j': 'x'}}]",
    "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: 'x'}]",
    "[JSONPatch{op: 'remove', path: '/data'}]",
    "[JSONPatch{op: 'test', path: '/metadata/name', value: 'x'}]",
    "[JSONPatch{op: 'replace', path: '/kind', value: 1}]",
    "[JSONPatch{op: 'x'}]",
    "[]",
    "object",
]


def _rules_for(source: random.Random) -> dict[str, Any]:
    group, resource = source.choice(_TARGETS)
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [resource, f"{resource}/status"][: source.randint(1, 2)],
        "operations": [source.choice(("CREATE", "UPDATE", "DELETE", "*"))],
    }


def _named(source: random.Random, **body: Any) -> dict[str, Any]:
    return {"metadata": {"name": source.choice(NAMES)}, **body}


def _resources(source: random.Random) -> dict[str, str]:
    names = ("cpu", "memory", "storage", "ephemeral-storage", "hugepages-2Mi", "example.com/x")
    return {name: source.choice(("1", "100m", "1Gi", "0", "-1", "1e3")) for name in names[:3]}


def _quota(source: random.Random) -> Draft:
    names = [
        *("pods", "configmaps", "count/configmaps", "count/deployments.apps", "services", "x"),
        *("requests.cpu", "limits.memory", "cpu", "requests.storage", "services.nodeports"),
        *(
            "count/gadgets.example.com",
            "secrets",
            "persistentvolumeclaims",
            "replicationcontrollers",
        ),
        "gold.storageclass.storage.k8s.io/requests.storage",
    ]
    hard = {name: source.choice(("0", "3", "9", "100m", "1Gi")) for name in source.sample(names, 3)}
    spec: dict[str, Any] = {"hard": hard}
    if source.random() < 0.3:
        spec["scopes"] = [source.choice(("BestEffort", "NotBestEffort", "Terminating", "x"))]
    if source.random() < 0.2:
        spec["scopeSelector"] = {
            "matchExpressions": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}
            ]
        }
    return Draft("POST", f"{_CORE}/resourcequotas", _named(source, spec=spec))


def _limits(source: random.Random) -> Draft:
    limits = [
        {
            "type": source.choice(("Container", "Pod", "PersistentVolumeClaim", "x")),
            **{
                field: _resources(source)
                for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
                if source.random() < 0.4
            },
        }
    ]
    return Draft("POST", f"{_CORE}/limitranges", _named(source, spec={"limits": limits}))


def _policy(source: random.Random) -> Draft:
    spec: dict[str, Any] = {
        "failurePolicy": source.choice(("Fail", "Ignore")),
        "matchConstraints": {"resourceRules": [_rules_for(source)]},
        "validations": [
            {
                "expression": source.choice(_EXPRESSIONS),
                "message": "m",
                "reason": source.choice(("Invalid", "Forbidden", "Unauthorized", "x")),
            }
        ],
        "variables": [{"name": "x", "expression": source.choice(_EXPRESSIONS)}],
    }
    if source.random() < 0.4:
        spec["validations"][0]["messageExpression"] = source.choice(
            ("'m' + object.metadata.name", "1", "string(params.data)", "''", "'a\\nb'")
        )
    if source.random() < 0.3:
        spec["matchConditions"] = [{"name": "m", "expression": source.choice(_EXPRESSIONS)}]
    if source.random() < 0.3:
        spec["auditAnnotations"] = [{"key": "k", "valueExpression": "'x'"}]
    return _with_params(source, "validatingadmissionpolicies", spec)


def _mutating_policy(source: random.Random) -> Draft:
    is_apply = source.random() < 0.5
    mutation = {
        "patchType": "ApplyConfiguration" if is_apply else "JSONPatch",
        **(
            {"applyConfiguration": {"expression": source.choice(_MUTATIONS)}}
            if is_apply
            else {"jsonPatch": {"expression": source.choice(_OPERATIONS)}}
        ),
    }
    spec = {
        "failurePolicy": source.choice(("Fail", "Ignore")),
        "reinvocationPolicy": source.choice(("Never", "IfNeeded")),
        "matchConstraints": {"resourceRules": [_rules_for(source)]},
        "mutations": [mutation],
    }
    return _with_params(source, "mutatingadmissionpolicies", spec)


def _with_params(source: random.Random, plural: str, spec: dict[str, Any]) -> Draft:
    if source.random() < 0.3:
        spec["paramKind"] = source.choice(
            (
                {"apiVersion": "v1", "kind": "ConfigMap"},
                {"apiVersion": "example.com/v1", "kind": "Gadget"},
                {"apiVersion": "x/v1", "kind": "X"},
            )
        )
    return Draft("POST", f"{_ADMISSION}/{plural}", _named(source, spec=spec))


def _binding_of_policy(source: random.Random) -> Draft:
    spec: dict[str, Any] = {"policyName": source.choice(NAMES)}
    if source.random() < 0.6:
        plural = "validatingadmissionpolicybindings"
        spec["validationActions"] = source.choice(
            (["Deny"], ["Warn"], ["Audit"], ["Warn", "Audit"])
        )
    else:
        plural = "mutatingadmissionpolicybindings"
    if source.random() < 0.4:
        spec["paramRef"] = {
            "parameterNotFoundAction": source.choice(("Allow", "Deny")),
            **source.choice(({"name": "a"}, {"selector": {}}, {"name": "a", "namespace": "b"})),
        }
    if source.random() < 0.3:
        spec["matchResources"] = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    return Draft("POST", f"{_ADMISSION}/{plural}", _named(source, spec=spec))


def _webhook(source: random.Random) -> Draft:
    sort = source.choice(("validate", "mutate"))
    client: dict[str, Any] = source.choice(
        (
            {"url": "https://127.0.0.1:1/x"},
            {"service": {"name": "a", "namespace": "default", "path": "/x"}},
            {"odd": sort},
            {"odd": sort},
        )
    )
    webhook = {
        "name": "w.example.com",
        "clientConfig": client,
        "failurePolicy": source.choice(("Ignore", "Ignore", "Fail")),
        "rules": [_rules_for(source)],
        "sideEffects": source.choice(("None", "NoneOnDryRun")),
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
        "objectSelector": {"matchLabels": {"a": "b"}} if source.random() < 0.5 else {},
    }
    if source.random() < 0.3:
        webhook["matchConditions"] = [{"name": "m", "expression": source.choice(_EXPRESSIONS)}]
    plural = {"validate": "validating", "mutate": "mutating"}[sort] + "webhookconfigurations"
    return Draft("POST", f"{_ADMISSION}/{plural}", _named(source, webhooks=[webhook]))


def _role(source: random.Random) -> Draft:
    rule: dict[str, Any] = {
        "verbs": source.sample(_VERBS, 2),
        "apiGroups": [source.choice(("", "apps", "*"))],
        "resources": [source.choice(_RESOURCES)],
    }
    if source.random() < 0.2:
        rule["resourceNames"] = [source.choice(NAMES)]
    body: dict[str, Any] = {"rules": [rule]}
    if source.random() < 0.4:
        return Draft("POST", f"{_RBAC}/namespaces/default/roles", _named(source, **body))
    if source.random() < 0.2:
        rule = {"nonResourceURLs": ["/metrics", "/healthz/*"], "verbs": ["get"]}
        body = {"rules": [rule]}
    elif source.random() < 0.3:
        selector = {"matchLabels": {"a": source.choice(("b", "c"))}}
        body = {"aggregationRule": {"clusterRoleSelectors": [selector]}}
    made = _named(source, **body)
    made["metadata"]["labels"] = {"a": source.choice(("b", "c"))}
    return Draft("POST", f"{_RBAC}/clusterroles", made)


def _role_binding(source: random.Random) -> Draft:
    kind = source.choice(("Role", "ClusterRole"))
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": source.choice(NAMES)}
    if source.random() < 0.2:
        ref |= {"kind": "ClusterRole", "name": source.choice(("admin", "view", "cluster-admin"))}
    subject = source.choice(
        (
            {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "Group", "name": "dev", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": "default", "namespace": "default"},
        )
    )
    place = "clusterrolebindings"
    if kind == "Role" or source.random() < 0.5:
        place = "namespaces/default/rolebindings"
    return Draft("POST", f"{_RBAC}/{place}", _named(source, roleRef=ref, subjects=[subject]))


# -- subresources


def _eviction(source: random.Random) -> Draft:
    name = source.choice(NAMES)
    options = {"gracePeriodSeconds": source.choice((0, 1)), "dryRun": ["All"]}
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
        "deleteOptions": options,
    }
    return Draft("POST", f"{_CORE}/pods/{name}/eviction", body)


def _pod_binding(source: random.Random) -> Draft:
    name = source.choice(NAMES)
    target = {"kind": "Node", "name": source.choice(NAMES)}
    body = {"metadata": {"name": name, "annotations": {"a": "b"}}, "target": target}
    path = source.choice((f"{_CORE}/pods/{name}/binding", f"{_CORE}/bindings"))
    return Draft("POST", path, body)


def _token(source: random.Random) -> Draft:
    spec: dict[str, Any] = {
        "audiences": source.choice(([], ["x"])),
        "expirationSeconds": source.choice((600, 1, 2**40, 3600)),
    }
    if source.random() < 0.3:
        spec["boundObjectRef"] = {
            "kind": source.choice(("Pod", "Secret", "Node", "X")),
            "apiVersion": "v1",
            "name": source.choice(NAMES),
        }
    account = source.choice(NAMES)
    return Draft("POST", f"{_CORE}/serviceaccounts/{account}/token", {"spec": spec})


def _scale(source: random.Random) -> Draft:
    path = source.choice(
        (
            "/apis/apps/v1/namespaces/default/deployments",
            "/apis/apps/v1/namespaces/default/statefulsets",
            "/apis/apps/v1/namespaces/default/replicasets",
            f"{_CORE}/replicationcontrollers",
            GADGETS,
        )
    )
    name = source.choice(NAMES)
    spec = {"replicas": source.choice((0, 1, 3, -1, 2**31))}
    body = {"metadata": {"name": name}, "spec": spec}
    return Draft(source.choice(("PUT", "PATCH")), f"{path}/{name}/scale", body)


def _pod_part(source: random.Random) -> Draft:
    name = source.choice(NAMES)
    container = {"name": source.choice("cd"), "image": "i"}
    resources = {"requests": {"cpu": source.choice(("1", "2", "x"))}}
    sort = source.choice(("ephemeralcontainers", "resize"))
    spec = {
        "ephemeralcontainers": {"ephemeralContainers": [container]},
        "resize": {"containers": [{**container, "resources": resources}]},
    }[sort]
    return Draft("PATCH", f"{_CORE}/pods/{name}/{sort}", {"spec": spec})


def _approval(source: random.Random) -> Draft:
    name = source.choice(NAMES)
    path = f"/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}"
    condition = {"type": source.choice(("Approved", "Denied", "Failed")), "status": "True"}
    if source.random() < 0.5:
        body: Any = {"status": {"conditions": [condition]}}
        return Draft("PATCH", f"{path}/{source.choice(('approval', 'status'))}", body)
    spec = {"request": "eA==", "signerName": "example.com/x", "usages": ["client auth"]}
    return Draft("POST", path.rpartition("/")[0], _named(source, spec=spec))


def _finalize(source: random.Random) -> Draft:
    name = source.choice("abcd")
    path = f"/api/v1/namespaces/{name}"
    if source.random() < 0.4:
        return Draft("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    if source.random() < 0.5:
        return Draft("DELETE", path, {})
    spec = {"finalizers": source.choice(([], ["kubernetes"], ["example.com/x"]))}
    return Draft("PUT", f"{path}/finalize", {"metadata": {"name": name}, "spec": spec})


def _connection(source: random.Random) -> Draft:
    name = source.choice(NAMES)
    part = source.choice(
        (
            "exec?command=ls&container=c",
            "attach?stdin=true",
            "portforward?ports=80",
            "proxy/a/b?c=d",
            "log?follow=true&tailLines=3",
            "log?tailLines=-1&container=c",
            "log?sinceTime=x",
            "proxy",
        )
    )
    plural = source.choice(("pods", "services", "nodes"))
    base = "/api/v1/nodes" if plural == "nodes" else f"{_CORE}/{plural}"
    return Draft(source.choice(("GET", "POST")), f"{base}/{name}/{part}", {})


# -- definitions

_LEAVES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "default": "d"},
    {"type": "string", "enum": ["a", "b"], "default": "a"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "duration"},
    {"type": "string", "minLength": 1, "maxLength": 3},
    {"type": "integer", "minimum": 0, "default": 3},
    {"type": "integer", "format": "int32", "multipleOf": 2},
    {"type": "number", "exclusiveMinimum": True, "minimum": 0},
    {"type": "boolean", "nullable": True},
    {"type": "boolean", "default": False},
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    {"type": "string", "nullable": True, "default": None},
    {"type": "object", "default": {}, "properties": {"in": {"type": "string", "default": "x"}}},
]


def schema(source: random.Random, depth: int = 0, mistakes: float = 0.0) -> dict[str, Any]:
    """A structural schema; ``mistakes`` is the probability of a rule that may not compile."""
    if depth > 3 or (depth and source.random() < 0.5):
        leaf = dict(source.choice(_LEAVES))
        if leaf.get("type") == "string" and source.random() < mistakes:
            leaf["pattern"] = source.choice(PATTERNS)
        return leaf
    inner = [schema(source, depth + 1, mistakes) for _ in range(source.randint(1, 4))]
    made: dict[str, Any]
    match source.choice(("object", "object", "map", "list", "list-map", "set")):
        case "map":
            made = {"type": "object", "additionalProperties": inner[0]}
        case "list":
            made = {"type": "array", "items": inner[0], "maxItems": 5}
            if source.random() < 0.3:
                made["x-kubernetes-list-type"] = "atomic"
        case "list-map":
            keys = {"k": {"type": "string"}, "p": {"type": "integer", "default": 1}}
            properties = {**dict(zip("abcd", inner, strict=False)), **keys}
            items = {"type": "object", "properties": properties, "required": ["k"]}
            made = {
                "type": "array",
                "items": items,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k", "p"],
            }
        case "set":
            items = {"type": source.choice(("string", "integer"))}
            made = {"type": "array", "items": items, "x-kubernetes-list-type": "set"}
        case _:
            made = {"type": "object", "properties": dict(zip("abcd", inner, strict=False))}
            if source.random() < 0.3:
                made["x-kubernetes-map-type"] = source.choice(("atomic", "granular"))
            if source.random() < 0.2:
                made |= source.choice(({"required": ["a"]}, {"default": {}}))
    if source.random() < 0.2:
        rules = ["self == self", "self == oldSelf", "type(self) == type(self)", "true"]
        if source.random() < mistakes:
            rules = [*RULES, *SPEC_RULES]
        made["x-kubernetes-validations"] = [{"rule": source.choice(rules), "message": "m"}]
    if source.random() < 0.1:
        made["nullable"] = True
    return made


def _gadget_version(source: random.Random, name: str, *, storage: bool) -> dict[str, Any]:
    mistakes = source.choice((0.0, 0.0, 0.2))
    properties = {
        "spec": schema(source, 0, mistakes),
        "status": schema(source, 0, mistakes),
        "replicas": {"type": "integer"},
    }
    version: dict[str, Any] = {
        "name": name,
        "served": source.random() < 0.9,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {},
    }
    if source.random() < 0.6:
        version["subresources"]["status"] = {}
    if source.random() < 0.4:
        version["subresources"]["scale"] = {
            "specReplicasPath": source.choice((".spec.a", ".spec.replicas")),
            "statusReplicasPath": ".status.a",
            "labelSelectorPath": ".status.b",
        }
    if source.random() < 0.3:
        path = source.choice((".spec.a", ".spec.b[0].c", ".metadata.labels.a", ".spec"))
        type_ = source.choice(("string", "integer", "date", "boolean", "number"))
        version["additionalPrinterColumns"] = [{"name": "A", "type": type_, "jsonPath": path}]
    if source.random() < 0.08:
        version["selectableFields"] = [{"jsonPath": source.choice((".spec.a", ".spec.a.b"))}]
    if source.random() < 0.2:
        version |= {"deprecated": True, "deprecationWarning": "old"}
    return version


def _gadgets(source: random.Random) -> Draft:
    stored = source.choice(("v1", "v1", "v2"))
    spec: dict[str, Any] = {
        "group": "example.com",
        "scope": "Cluster",
        "names": {
            "plural": "gadgets",
            "kind": "Gadget",
            "shortNames": ["gd"],
            "categories": ["all"],
        },
        "versions": [
            _gadget_version(source, name, storage=name == stored) for name in ("v1", "v2")
        ],
    }
    if source.random() < 0.2:
        client = source.choice(({"url": "https://127.0.0.1:1/convert"}, {"odd": "convert"}))
        spec["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": client,
                "conversionReviewVersions": ["v1"],
            },
        }
    body = {"metadata": {"name": "gadgets.example.com"}, "spec": spec}
    if source.random() < 0.02:
        return Draft("DELETE", f"{CRDS}/gadgets.example.com", {})
    if source.random() < 0.5:
        return Draft("POST", CRDS, body)
    spec.setdefault("conversion", None)  # back to none
    return Draft("PATCH", f"{CRDS}/gadgets.example.com", body)


def _gadget(source: random.Random) -> Draft:
    name = source.choice(NAMES)
    version = source.choice(("v1", "v1", "v2"))
    path = GADGETS.replace("v1", version)
    body = {
        "apiVersion": f"example.com/{version}",
        "kind": "Gadget",
        "metadata": {"name": name, "labels": {"a": "b"}},
        "spec": _any_value(source),
        "status": _any_value(source),
        "replicas": 1,
    }
    method = source.choice(("POST", "POST", "PUT", "PATCH", "DELETE"))
    part = source.choice(("", "", "", "/status", "/scale")) if method in ("PUT", "PATCH") else ""
    if method == "DELETE":
        body = {}
    return Draft(method, path if method == "POST" else f"{path}/{name}{part}", body)


def _any_value(source: random.Random, depth: int = 0) -> Any:
    """A value that some of the schemas of `schema` allow."""
    if depth > 3 or source.random() < 0.35:
        return source.choice((1, 0, "a", "x", True, 1.5, None, "1h", "2020-01-01T00:00:00Z", {}))
    if source.random() < 0.4:
        keyed = source.random() < 0.5
        items = [_any_value(source, depth + 1) for _ in range(source.randint(0, 3))]
        return [{"k": source.choice("xy"), "a": item} for item in items] if keyed else items
    return {key: _any_value(source, depth + 1) for key in source.sample("abcd", 2)}


FEATURES: dict[Feature, float] = {
    _quota: 1,
    _limits: 1,
    _policy: 2,
    _mutating_policy: 1.5,
    _binding_of_policy: 2,
    _webhook: 0.7,
    _role: 2,
    _role_binding: 1.5,
    _eviction: 1,
    _pod_binding: 0.7,
    _token: 1,
    _scale: 1,
    _pod_part: 1,
    _approval: 1,
    _finalize: 1.5,
    _connection: 1,
    _gadgets: 3,
    _gadget: 8,
}
"""How often each is made."""
