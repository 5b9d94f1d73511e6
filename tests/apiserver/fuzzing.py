"""Requests with errors, as hypothesis strategies, and a client that sends them.

A request is made of resources, parameters and kinds that the server knows, with errors in them:
random bytes alone would rarely pass the first check.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from hypothesis import strategies as st

from tests.apiserver.http_api import widget_crd

PATIENCE = 30.0
"""Seconds without an answer that count as a hang."""

_REAL_SERVER_ERRORS = {
    "resourceVersion should not be set on objects to be created": "the storage refuses it",
    "strconv.ParseUint: parsing": "of a resourceVersion, unclassified",
    "Timeout: Too large resource version": "the server waits for the version, in vain",
    "Object 'apiVersion' is missing": "of a patched custom resource",
    "content is not a list": "of a Table of something else",
    "is impersonated without a user": "unclassified",
    "request to convert CR to an invalid group/version: autoscaling/v1": "apply to a scale",
    "conversion webhook for ": "it can't be reached, or answers what it should not",
    "request to convert CR from an invalid group/version": "an admission webhook has set that",
    "patch of webhook": "the patch can't be applied",
    "failed calling webhook": "the webhook of the request can't be reached",
    "target.name: Required value": "a binding's field errors are aggregated, not a Status",
    "target.kind: Unsupported value": "as above",
    "accessor error: .* is of the type": "of the scale of a custom resource",
    'the spec replicas field ".*" does not exist': "of the scale of a custom resource",
    "failed to allocate requested HealthCheck NodePort": "the allocation is an internal error",
    "^admission webhook .* denied the request": "the webhook chooses the code of its denial",
    # Server-side apply: an object that its type can't describe is an unclassified error.
    "failed to create typed (patch|live|new) object": "of a list of which a key field is missing",
    # Strategic merge patches: only what interpretStrategicMergePatchError knows is a 4xx.
    "does not contain declared merge key|lacks its merge key|has no merge key": "no merge key",
    "can't be merged without a merge key": "the type has no merge key",
    "unknown patch type|unknown \\$patch directive": "of a $patch directive",
    "an item can't ask to be merged": "as above",
    "is a list, not|can't merge lists whose items are of|list item .* is not an object": "types",
    "so it can't be merged": "of a field that the type lacks",
    "the order of .* is not that of": "of $setElementOrder",
}
"""Messages that a real server answers with 500 or 504 to a client's mistake, and why.

They are in recordings or in the source of a real server.
"""

REAL_SERVER_ERRORS = re.compile("|".join(_REAL_SERVER_ERRORS), re.DOTALL)

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]

JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**31, 2**63, 2**64, 10**30, -(2**70), 1e308),
    *("", "x", "é", "\ud800", "a\0b", "x" * 300, "1", "true", "2020-01-01T00:00:00Z", "..", "a/b"),
    *([], {}, [None], [[]], [{}], {"a": None}, {"": ""}, {"x": {"y": [1, "z", {}]}}, DEEP),
    *({"$patch": "replace"}, {"$patch": "nonsense"}, {"$retainKeys": 1}, {"$setElementOrder/x": 1}),
]

junk = st.sampled_from(JUNK) | st.text(max_size=8) | st.integers() | st.floats()
words = st.sampled_from(
    ["a", "b", "default", "kube-system", "", "..", "A", "x" * 300, "*"]
) | st.text(st.characters(codec="utf-8"), max_size=6)

# -- objects

_CONTAINER = {
    "name": "c",
    "image": "i",
    "ports": [{"containerPort": 80, "protocol": "TCP"}],
    "env": [{"name": "e", "value": "v"}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [_CONTAINER]}}
_SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
_METADATA = {
    "name": "a",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": [],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}],
    "managedFields": [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k": {}}},
        }
    ],
}
_WEBHOOK = {
    "name": "w.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "objectSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    "rules": [
        {"operations": ["*"], "apiGroups": ["none"], "apiVersions": ["*"], "resources": ["x"]}
    ],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "matchConditions": [{"name": "m", "expression": "object.metadata.name == 'x'"}],
}


def _object(version: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": _METADATA, **fields}


_APPS = "/apis/apps/v1/namespaces/default"
_CORE = "/api/v1/namespaces/default"
_WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"

OBJECTS: dict[str, dict[str, Any]] = {
    f"{_CORE}/configmaps": _object("v1", "ConfigMap", data={"k": "v"}, binaryData={"b": "eA=="}),
    f"{_CORE}/secrets": _object("v1", "Secret", data={"k": "eA=="}, stringData={"s": "x"}),
    f"{_CORE}/pods": _object("v1", "Pod", spec=_TEMPLATE["spec"]),
    f"{_CORE}/services": _object(
        "v1",
        "Service",
        spec={"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}},
    ),
    f"{_CORE}/events": _object(
        "v1", "Event", involvedObject={"kind": "Pod", "name": "a", "namespace": "default"}, count=1
    ),
    "/api/v1/namespaces": _object("v1", "Namespace", spec={"finalizers": ["kubernetes"]}),
    "/api/v1/nodes": _object("v1", "Node", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]}),
    f"{_APPS}/deployments": _object(
        "apps/v1",
        "Deployment",
        spec={"replicas": 1, "selector": _SELECTOR, "template": _TEMPLATE, "strategy": {}},
        status={"conditions": [{"type": "Available", "status": "True"}]},
    ),
    f"{_APPS}/statefulsets": _object(
        "apps/v1", "StatefulSet", spec={"selector": _SELECTOR, "template": _TEMPLATE}
    ),
    "/apis/batch/v1/namespaces/default/jobs": _object(
        "batch/v1", "Job", spec={"template": _TEMPLATE}
    ),
    "/apis/batch/v1/namespaces/default/cronjobs": _object(
        "batch/v1",
        "CronJob",
        spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _TEMPLATE}}},
    ),
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": _object(
        "coordination.k8s.io/v1",
        "Lease",
        spec={"holderIdentity": "h", "renewTime": "2020-01-01T00:00:00.000000Z"},
    ),
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": _object(
        "policy/v1", "PodDisruptionBudget", spec={"selector": _SELECTOR, "minAvailable": "50%"}
    ),
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": _object(
        "networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": _SELECTOR}
    ),
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses": _object(
        "networking.k8s.io/v1",
        "Ingress",
        spec={"rules": [{"host": "h"}], "defaultBackend": {"resource": {"kind": "k", "name": "n"}}},
    ),
    "/api/v1/persistentvolumes": _object(
        "v1",
        "PersistentVolume",
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/"},
        },
    ),
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles": _object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ),
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": {"kind": "Deployment", "name": "a"}, "maxReplicas": 3},
    ),
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    },
    f"{_ADMISSION}/validatingwebhookconfigurations": _object(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[_WEBHOOK]
    ),
    f"{_ADMISSION}/mutatingwebhookconfigurations": _object(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", webhooks=[_WEBHOOK]
    ),
    _WIDGETS: {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {"size": 1, "list": ["a"], "map": {"k": 1}, "set": [{"name": "n"}]},
        "status": {"ready": True},
    },
}

# -- custom resource definitions

RULES = [
    *(
        "self == oldSelf",
        "1/0 == 1",
        "self.matches('(')",
        "self.all(x, x)",
        "'a' * 3",
        "[1][5] == 1",
    ),
    *("9223372036854775807 + 1 > 0", "timestamp(self) > timestamp('x')", "{}['a']", "self.x.y.z"),
    *(
        "size(self) > 0",
        "self.nope()",
        "(" * 300,
        "!" * 300 + "true",
        "a" * 3000,
        "",
        "self",
        "true",
    ),
    *("duration('1')", "'\\xff'", "b'a'", "self.map(x, self.map(y, self.map(z, z))) == []"),
    *(
        "[1, 'a', {}].exists(x, x == 1)",
        "has(self.size)",
        "has(self)",
        "dyn(self) in [1]",
        "1 ? 2 : 3",
    ),
    *(
        "optional.none()",
        "quantity('x').isGreaterThan(quantity('1'))",
        "isURL(self)",
        "0u - 1u == 0u",
    ),
    *(
        "string(self) + string(1.0) == ''",
        "int('99999999999999999999') == 0",
        "-(-9223372036854775808)",
    ),
    *(
        "url('::').getHost() == ''",
        "'a'.substring(5) == ''",
        "[].max() == 1",
        "'é'.charAt(99) == ''",
    ),
    *(
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')",
        "size('a'.split('')) == 1",
        "self.list == 1",
    ),
]
PATTERNS = ["(", "[", "(a+)+$", "^\\p{L}$", "(?<n>a)", "\\", "x" * 2000, "(?i)a", "a{99999}"]
JSON_PATHS = [
    ".spec.size",
    ".spec",
    "..",
    ".a[?(@.b)]",
    "{",
    ".spec.list[0]",
    ".metadata.x",
    "",
    ".",
]

SPEC_RULES = [
    *(
        "self.size / (self.size - 1) > 0",
        "self.list[5] == 'a'",
        "self.map['x'] == 1",
        "self.size > oldSelf.size",
    ),
    *(
        "self.list.all(x, x.matches('^(a+)+$'))",
        "self.set.exists(x, x.name == self.list[0])",
        "has(self.size)",
    ),
    *(
        "self.size + 9223372036854775807 > 0",
        "-self.size < 0",
        "self.size * self.size * self.size > 0",
    ),
    *(
        "self.list.map(x, self.list.map(y, x + y)).size() > 0",
        "int(self.list[0]) > 0",
        "size(self.map) > 0",
    ),
    *(
        "timestamp(self.list[0]) > timestamp('2020-01-01T00:00:00Z')",
        "duration(self.list[0]) > duration('1s')",
    ),
    *(
        "quantity(self.list[0]).isGreaterThan(quantity('1'))",
        "url(self.list[0]).getHost() == ''",
        "self.set == []",
    ),
    *(
        "self.list[0].substring(5) == ''",
        "self.list.max() == 'a'",
        "self.list[0].charAt(99) == ''",
        "self.any == 1",
    ),
    *(
        "string(self.any) == 'x'",
        "self.any.x.y == 1",
        "self.any in self.list",
        "self.any > 1",
        "dyn(self).nope",
    ),
    *(
        "self.list[0].format([1]) == ''",
        "'%s %d'.format([self.size, self.list]) == ''",
        "self.list.isSorted()",
    ),
    *(
        "self.?size.orValue(1) == 1",
        "[self.any].exists_one(x, x == 1)",
        "type(self.any) == int",
        "self.num > 1.0",
    ),
    *(
        "double(self.list[0]) > 0.0",
        "self.num / 0.0 > 1.0",
        "int(self.num) == 1",
        "uint(self.size) > 0u",
    ),
]
_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 3, "x-kubernetes-validations": []},
        "num": {"type": "number", "nullable": True},
        "list": {"type": "array", "items": {"type": "string"}, "maxItems": 9},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "set": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
    },
}

_rules = st.lists(
    st.fixed_dictionaries(
        {"rule": st.sampled_from(RULES)},
        optional={
            "message": st.text(max_size=5),
            "messageExpression": st.sampled_from(RULES),
            "reason": st.sampled_from(["FieldValueInvalid", "FieldValueRequired", "x"]),
            "fieldPath": st.sampled_from(JSON_PATHS),
            "optionalOldSelf": st.booleans(),
        },
    ),
    max_size=2,
)
_LEAVES = {
    "string": {
        "format": st.sampled_from(
            ["date-time", "byte", "x", "ipv4", "duration", "uuid", "cidr", "email"]
        ),
        "pattern": st.sampled_from(PATTERNS),
        "maxLength": st.integers(-1, 5),
        "enum": st.lists(junk, min_size=1, max_size=3),
    },
    "integer": {
        "minimum": st.integers(),
        "multipleOf": st.integers(-1, 3),
        "format": st.just("int32"),
    },
    "number": {
        "maximum": st.floats(allow_nan=False, allow_infinity=False),
        "exclusiveMaximum": st.booleans(),
    },
    "boolean": {},
    "object": {
        "x-kubernetes-preserve-unknown-fields": st.booleans(),
        "maxProperties": st.integers(-1, 3),
    },
}


def _schema(of_type: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just(of_type)},
        optional={
            "nullable": st.booleans(),
            "default": junk,
            "x-kubernetes-validations": _rules,
            "not": st.fixed_dictionaries({}, optional={"enum": st.lists(junk, max_size=2)}),
            "anyOf": st.lists(
                st.sampled_from([{"minLength": 1}, {"required": ["a"]}, {}]), max_size=2
            ),
            **more,
        },
    )


_FIELDS = [
    "size",
    "list",
    "map",
    "set",
    "name",
    "any",
    "status",
    "metadata",
    "apiVersion",
    "port",
    "",
]
schemas = st.recursive(
    st.one_of(_schema(of_type, **more) for of_type, more in _LEAVES.items()),
    lambda inner: (
        _schema(
            "object",
            properties=st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
            required=st.lists(st.sampled_from(_FIELDS), max_size=3),
        )
        | _schema("object", additionalProperties=inner)
        | _schema(
            "array",
            items=inner,
            **{"x-kubernetes-list-type": st.sampled_from(["set", "atomic", "map"])},
        )
    ),
    max_leaves=8,
)


@st.composite
def _typical_spec(draw: st.DrawFn) -> dict[str, Any]:
    rules = draw(st.lists(st.sampled_from(SPEC_RULES), min_size=1, max_size=2))
    return {**_SPEC, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    """A CustomResourceDefinition of Widgets with something odd in it."""
    crd = widget_crd()
    version = crd["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "properties": {
            "spec": draw(_typical_spec() | _typical_spec() | schemas),
            "status": draw(schemas),
        },
    }
    if draw(st.integers(0, 3)) == 0:
        version["additionalPrinterColumns"] = [
            {
                "name": draw(words),
                "type": draw(st.sampled_from(["string", "integer", "date", "x"])),
                "jsonPath": draw(st.sampled_from(JSON_PATHS)),
            }
        ]
    if draw(st.integers(0, 3)) == 0:
        version["subresources"]["scale"] = {
            "specReplicasPath": draw(st.sampled_from(JSON_PATHS)),
            "statusReplicasPath": draw(st.sampled_from([".status.ready", ".status", *JSON_PATHS])),
            "labelSelectorPath": draw(
                st.sampled_from([".spec.map", ".spec.list", ".status.sel", ""])
            ),
        }
    if draw(st.integers(0, 3)) == 0:
        version["selectableFields"] = [{"jsonPath": draw(st.sampled_from(JSON_PATHS))}]
    return draw(mistaken(crd)) if draw(st.integers(0, 3)) == 0 else crd


# -- mistakes


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list) and len(path) < 20:
        children = enumerate(value)
    for key, item in children:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


@st.composite
def mistaken(draw: st.DrawFn, correct: Any) -> Any:
    """A JSON value with a few things in it replaced, added or left out."""
    value = _copy(correct)
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        places = list(_places(value))
        if not places:
            return _copy(draw(junk))
        *path, key = draw(st.sampled_from(places))
        holder = value
        for step in path:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "replace", "remove", "add"])):
            case "replace":
                holder[key] = _copy(draw(junk))
            case "remove":
                del holder[key]
            case "add" if isinstance(holder, dict):
                holder[draw(words)] = _copy(draw(junk))
            case _:
                holder.append(_copy(draw(junk)))
    return value


# -- requests


@dataclass(frozen=True, slots=True)
class FuzzedRequest:
    """A request, as bytes on a connection."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def encode(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + self.body


QUERY = {
    "labelSelector": ["a=b", "a in (", "!a", "a notin (x,)", "==", ",", "a>1", "a in ()", "é=é"],
    "fieldSelector": ["metadata.name=a", "status.phase!=x", "=", "x.y=z", "spec.size=1", "a==b,"],
    "resourceVersion": ["0", "1", "-1", "x", "999999999", "99999999999999999999", "1001"],
    "resourceVersionMatch": ["Exact", "NotOlderThan", "x"],
    "limit": ["0", "1", "-1", "x", "99999999999999999999", "1.5"],
    "continue": ["x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "====", "eyJydiI6LTF9", "W10"],
    "timeoutSeconds": ["0", "1", "-1", "x", "99999999999999999999"],
    "allowWatchBookmarks": ["true", "x"],
    "sendInitialEvents": ["true", "false", "x"],
    "dryRun": ["All", "x", ""],
    "fieldManager": ["m", "x" * 200, "a\nb"],
    "fieldValidation": ["Strict", "Warn", "Ignore", "x"],
    "force": ["true", "x"],
    "propagationPolicy": ["Foreground", "Background", "Orphan", "x"],
    "gracePeriodSeconds": ["0", "-1", "x", "99999999999999999999"],
    "includeObject": ["Object", "x"],
    "pretty": ["true"],
    "watch": ["0", "false"],
}
ACCEPTS = [
    *(
        "application/json",
        "application/yaml",
        "*/*",
        "text/html",
        "",
        ",",
        ";",
        "a;q=x",
        "*/*;q=nan",
    ),
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=x;v=v9",
    "application/yaml;as=Table;g=meta.k8s.io;v=v1",
    "application/vnd.kubernetes.protobuf",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
]
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
CONTENT_TYPES = [
    *("application/json", "application/yaml", "text/plain", "", ";", "application/json; charset=x"),
    *(
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        JSON_PATCH,
        APPLY_PATCH,
    ),
    *("application/vnd.kubernetes.protobuf", "application/apply-patch+cbor"),
]
_HEADERS = st.lists(
    st.tuples(st.just("Accept"), st.sampled_from(ACCEPTS))
    | st.tuples(st.just("Content-Type"), st.sampled_from(CONTENT_TYPES))
    | st.tuples(st.just("Accept-Encoding"), st.sampled_from(["gzip", "gzip;q=0", "x"]))
    | st.tuples(st.just("Authorization"), st.sampled_from(["Bearer x", "", "Basic eA=="])),
    max_size=3,
)
RAW_BODIES = [
    *(
        b"",
        b"{",
        b"[]",
        b"null",
        b"1e999",
        b"NaN",
        b'{"a":1,"a":2}',
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
    ),
    *(
        b"{}",
        b'"x"',
        b"[" * 5000,
        b'{"a":' * 5000,
        b"a: &a [*a]",
        b"- - - -",
        b"? {a: 1}\n: 2",
        b"\t",
    ),
    *(b"!!python/object:os.system x", b"k8s\0\n", b"a: 2020-01-01", b"1: 2", b"<<: 1", b"9" * 5000),
    b'{"metadata":{"name":"\\ud800"}}',
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"data":{"k":"\xff"}}',
    b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"\n".join(
        b"%c: &%c [%s]" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 110)
    ),
]
_envelope = (
    b"\n\x0f\n\x02v1\x12\tConfigMap\x12",
    b"\n\x0b\n\x02v1\x12\x05Event\x12",
    b"\n",
    b"\x12",
)
protobuf = st.builds(
    lambda head, raw: head + bytes([len(raw)]) + raw,
    st.sampled_from(_envelope),
    st.lists(
        st.sampled_from(
            [b"\n\x03\n\x01a", b"\x12\x06\n\x01k\x12\x01v", b"\n", b"\xff" * 11, b"\x08"]
        )
        | st.binary(max_size=6),
        max_size=5,
    ).map(b"".join),
)
"""Bodies of kubectl and Go clients, in part."""

POINTERS = [
    "",
    "/",
    "/metadata",
    "/metadata/name",
    "/data/k",
    "/data/-",
    "/spec/list/0",
    "/~2",
    "x",
    "/a/b",
]
_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]),
            "path": st.sampled_from(POINTERS),
        },
        optional={"value": junk, "from": st.sampled_from(POINTERS)},
    )
    | junk,
    max_size=4,
)
SUBRESOURCES = [
    "status",
    "scale",
    "finalize",
    "token",
    "eviction",
    "log",
    "x",
    "status/x",
    "binding",
]
OTHER_PATHS = [
    *("/", "/api", "/apis", "/apis/", "/api/v1", "/apis/apps", "/version", "/healthz", "/readyz/x"),
    *(
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/api/v1",
        "/openapi/v3/apis/x/v1",
        "/metrics",
        "/logs",
    ),
    *(
        "/api/v1/watch/pods",
        "/api/v1//pods",
        "//",
        "/../etc/passwd",
        "/api/v1/namespaces/%00",
        "/%ff",
    ),
    *("/api/v1/pods/", "/apis/apps/v1/namespaces//deployments", "/api/v1/namespaces/a%2Fb/pods/c"),
]


def encode(value: Any) -> bytes:
    """JSON as a sloppy client writes it: NaN, halves of characters."""
    return json.dumps(value).encode()


@st.composite
def requests(draw: st.DrawFn) -> FuzzedRequest:
    """Any request."""
    if draw(st.integers(0, 9)) == 0:
        path = draw(st.sampled_from(OTHER_PATHS))
        correct: Any = {}
    else:
        path, correct = draw(st.sampled_from(sorted(OBJECTS.items(), key=lambda item: item[0])))
        if draw(st.booleans()):
            path += "/" + quote(draw(words), safe="*")
            if draw(st.integers(0, 3)) == 0:
                path += "/" + draw(st.sampled_from(SUBRESOURCES))
        if draw(st.integers(0, 9)) == 0:
            path = path.replace("default", quote(draw(words), safe="*"))
    method = draw(
        st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS"])
    )
    query = draw(
        st.lists(
            st.sampled_from(sorted(QUERY)).flatmap(
                lambda name: st.tuples(st.just(name), st.sampled_from(QUERY[name]) | words)
            ),
            max_size=3,
        )
    )
    headers = draw(_HEADERS)
    if method == "PATCH" and draw(st.booleans()):
        headers.insert(0, ("Content-Type", JSON_PATCH))
        body = encode(draw(_OPERATIONS))
    elif method == "PATCH":
        headers.insert(0, ("Content-Type", draw(st.sampled_from(CONTENT_TYPES[6:]))))
        body = encode(draw(mistaken(correct)))
    elif draw(st.integers(0, 7)) == 0:
        headers.insert(0, ("Content-Type", "application/vnd.kubernetes.protobuf"))
        body = b"k8s\0" + draw(protobuf)
    elif draw(st.integers(0, 4)) == 0:
        body = draw(st.sampled_from(RAW_BODIES) | st.binary(max_size=20))
    elif method == "DELETE":
        options = {
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u"},
            "dryRun": ["All"],
        }
        body = encode(draw(mistaken(options)))
    else:
        body = encode(draw(mistaken(correct)))
    target = path + ("?" + urlencode(query) if query else "")
    return FuzzedRequest(method, target, tuple(headers), body)


FRAGMENTS = [
    *(
        b"GET / HTTP/1.1\r\n",
        b"POST /api/v1/namespaces HTTP/1.1\r\n",
        b"Host: localhost\r\n",
        b"\r\n",
        b"\n",
        b"\0",
    ),
    *(
        b"Content-Length: 5\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: x\r\n",
        b"GET /api HTTP/2.0\r\n",
    ),
    *(
        b"Content-Length: 99999999999999999999\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"0\r\n\r\n",
        b"5\r\n",
    ),
    *(
        b"Connection: upgrade\r\nUpgrade: websocket\r\n",
        b"Expect: 100-continue\r\n",
        b"hello",
        b" folded\r\n",
    ),
    *(
        b"CONNECT x:1 HTTP/1.1\r\n",
        b"OPTIONS * HTTP/1.1\r\n",
        b"GET http://x/api HTTP/1.1\r\n",
        b": x\r\n",
    ),
    *(
        b"GET /%zz HTTP/1.1\r\n",
        b"GET \xff HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"ffffffff\r\n",
    ),
    *(
        b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n",
        b"X: " + b"y" * 5000 + b"\r\n",
        b"Connection: close\r\n",
    ),
    *(
        b"GET /api?" + b"a=b&" * 2000 + b" HTTP/1.1\r\n",
        b"\x16\x03\x01\x02\x00",
        b"Host: localhost\r\n\r\n",
    ),
]
streams = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=8), max_size=10).map(b"".join)
"""Bytes that resemble HTTP."""

# -- the client


_LARGE_PATIENCE = 5
"""Times as long may the answer to a large request take."""


class Wire:
    """Sends bytes and reads answers, over one connection as long as it holds."""

    def __init__(
        self,
        url: str,
        patience: float = PATIENCE,
        context: ssl.SSLContext | None = None,
        token: str | None = None,
    ) -> None:
        """Use TLS with a ``context``, and send the ``token`` with requests that have none."""
        address = urlsplit(url)
        self._address = (address.hostname, address.port)
        self._patience = patience
        self._context = context
        self._token = token
        self._connection: socket.socket | None = None

    def ask(self, request: FuzzedRequest) -> tuple[int, bytes]:
        """Status and body of the answer; of a watch, its first bytes.

        Raises:
            TimeoutError: the server hangs.
        """
        if self._connection is None:
            self._connection = self._connect()
        connection = self._connection
        if self._token and "Authorization" not in dict(request.headers):
            authorization = ("Authorization", f"Bearer {self._token}")
            request = replace(request, headers=(*request.headers, authorization))
        is_large = len(request.body) > 100_000 or "/large" in request.target
        connection.settimeout(self._patience * (_LARGE_PATIENCE if is_large else 1))
        connection.sendall(request.encode())
        received = b""
        while b"\r\n\r\n" not in received:
            received += _some(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        sizes = [line.partition(b":")[2] for line in lines if line.startswith(b"content-length:")]
        if not sizes or b"connection: close" in lines:
            self.close()
        elif request.method != "HEAD":
            while len(body) < int(sizes[0]):
                body += _some(connection)
        return int(head.split(b" ", 2)[1]), body

    def babble(self, stream: bytes) -> bytes:
        """Return what the server answers to bytes before it closes the connection."""
        with self._connect() as connection:
            connection.sendall(stream)
            connection.shutdown(socket.SHUT_WR)
            received = b""
            try:
                while chunk := connection.recv(1 << 16):
                    received += chunk
            except (ConnectionResetError, ssl.SSLEOFError):
                pass  # closed before everything was read
        return received

    def _connect(self) -> socket.socket:
        plain = socket.create_connection(self._address, self._patience)
        if self._context is None:
            return plain
        return self._context.wrap_socket(plain, server_hostname=self._address[0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _some(connection: socket.socket) -> bytes:
    received = connection.recv(1 << 16)
    if not received:
        raise ConnectionError("the server has hung up without an answer")
    return received
