"""Random requests for the resources that a server has."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import yaml

from tests.testcluster.server.fuzz.expressions import PATTERNS, RULES, SPEC_RULES
from tests.testcluster.server.fuzz.features import FEATURES, GROUPS, REVIEWS, USERS
from tests.testcluster.server.fuzz.large import LARGE
from tests.testcluster.server.fuzz.objects import CRDS, JUNK, OBJECTS
from tests.testcluster.server.fuzz.request_parts import (
    ACCEPTS,
    APPLY_PATCH,
    CONTENT_TYPES,
    FRAGMENTS,
    JSON_PATCH,
    OTHER_PATHS,
    POINTERS,
    QUERY,
    RAW_BODIES,
    SUBRESOURCES,
)
from tests.testcluster.server.fuzz.values import NAMES, Values
from tests.testcluster.server.fuzz.wire import FuzzedRequest
from tests.testcluster.server.http_api import WIDGETS, widget_crd

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_MOST_SEEN = 300
"""Objects of earlier responses that are kept, to send them again with changes."""

_YAML = [
    *("&a [*a]", "*a", "<<: *a", "!!int ''", "!!bool zzz", "!!binary x", "!!timestamp x", "!x y"),
    *(
        "? [a]\n: b",
        "a: &x b\nc: *x",
        "- - -",
        "0x1F",
        "1:2:3",
        "1_0",
        ".inf",
        "2020-01-01",
        "|\n a",
    ),
    *(
        ">-\n a\n  b",
        "%YAML 1.9\n---\na",
        "a: b: c",
        "{a, b: [c",
        "'",
        '"\\x"',
        "\t",
        "---\n---\n",
        "# x",
    ),
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource that objects can be created of."""

    collection: str
    """Its path, in the namespace ``default`` if it has one."""
    api_version: str
    kind: str
    schema: Mapping[str, Any]
    subresources: frozenset[str] = frozenset()

    @property
    def everywhere(self) -> str:
        """The path of the objects in all namespaces."""
        return self.collection.replace("/namespaces/default/", "/")

    def path_of(self, obj: Mapping[str, Any]) -> str:
        """The path of an object."""
        metadata = obj["metadata"]
        namespace = f"/namespaces/{metadata.get('namespace')}/"
        collection = self.collection.replace("/namespaces/default/", namespace)
        return f"{collection}/{quote(metadata['name'])}"


class Source:
    """The requests of a round."""

    def __init__(
        self,
        seed: str,
        kinds: list[Kind],
        components: Mapping[str, Any],
        client_config: Callable[[str], dict[str, str]],
        *,
        has_users: bool = False,
    ) -> None:
        """``client_config`` is of the odd webhook of a path.

        With ``has_users`` some requests are those of other users.
        """
        self._random = random.Random(seed)
        self._kinds = kinds
        self._components = components
        self._values = Values(self._random, components)
        self._client_config = client_config
        self._has_users = has_users
        self._seen: dict[str, dict[str, Any]] = {}
        self._gadget_schema: Mapping[str, Any] = {}
        """Of the newest definition that was accepted."""
        self._tokens = ["x"]
        """Of pages whose rest can be asked for."""
        self._makers: dict[Callable[[], FuzzedRequest | bytes], float] = {
            self._create: 20,
            self._correct: 10,
            self._update: 12,
            self._patch: 18,
            self._apply: 9,
            self._delete: 7,
            self._read: 12,
            self._subresource: 6,
            self._yaml: 5,
            self._protobuf: 5,
            self._definition: 3,
            self._widget: 6,
            self._anything: 5,
            self._stream: 3,
            self._feature: 20,
            self._review: 2,
            self._page: 4,
            self._large: 0.15,
        }

    def next(self) -> FuzzedRequest | bytes:
        """A request, or bytes that resemble one."""
        [make] = self._random.choices(list(self._makers), list(self._makers.values()))
        request = make()
        if isinstance(request, bytes):
            return request
        if self._random.random() < 0.1:
            name = self._random.choice(NAMES)
            request = replace(
                request,
                target=request.target.replace("/namespaces/default/", f"/namespaces/{name}/", 1),
                body=request.body.replace(
                    b'"namespace": "default"', b'"namespace": "%s"' % name.encode()
                ),
            )
        if self._has_users and self._random.random() < 0.4:
            groups = [
                ("Impersonate-Group", self._random.choice(GROUPS).strip())
                for _ in range(self._random.randrange(3))
            ]
            user = ("Impersonate-User", self._random.choice(USERS))
            request = replace(request, headers=(*request.headers, user, *groups))
        return request

    def note(self, answer: Any) -> None:
        """Keep an object that the server has answered, to send it again."""
        metadata = answer.get("metadata")
        if isinstance(metadata, dict) and metadata.get("continue"):
            self._tokens = [*self._tokens[-20:], metadata["continue"]]
        if not isinstance(metadata, dict) or "uid" not in metadata or metadata["name"] == "large":
            return
        if metadata["name"] == "gadgets.example.com" and "spec" in answer:
            version = answer["spec"]["versions"][0]
            self._gadget_schema = version["schema"]["openAPIV3Schema"]
        for kind in self._kinds:
            if (kind.api_version, kind.kind) == (answer.get("apiVersion"), answer.get("kind")):
                self._seen[kind.path_of(answer)] = answer
        while len(self._seen) > _MOST_SEEN:
            del self._seen[next(iter(self._seen))]

    # -- objects

    def _kind(self) -> Kind:
        return self._random.choice(self._kinds)

    def _object(self, kind: Kind) -> dict[str, Any]:
        made = self._values.object_of(kind.api_version, kind.kind, kind.schema)
        if self._random.random() < 0.2 and kind.collection in OBJECTS:
            made = self._values.with_mistakes(OBJECTS[kind.collection])
        return made

    def _correct(self) -> FuzzedRequest:
        """A new object that is mostly accepted, for others to refer to or change."""
        path = self._random.choice(list(OBJECTS))
        obj = copy.deepcopy(OBJECTS[path])
        obj.setdefault("metadata", {})["name"] = self._values.name()
        for name in ("ownerReferences", "managedFields"):  # no owner: it is collected
            if self._random.random() < 0.9:
                obj["metadata"].pop(name, None)
        obj = self._values.with_mistakes(obj, self._random.choice((0, 0, 1)))
        return self._json("POST", path, obj)

    def _known(self) -> tuple[str, dict[str, Any]]:
        """The path and state of an object that exists or has existed."""
        if self._seen and self._random.random() < 0.85:
            path = self._random.choice(list(self._seen))
            return path, self._seen[path]
        kind = self._kind()
        return f"{kind.collection}/{self._values.name()}", self._object(kind)

    def _create(self) -> FuzzedRequest:
        kind = self._kind()
        return self._json("POST", kind.collection, self._object(kind))

    def _update(self) -> FuzzedRequest:
        path, obj = self._known()
        new = self._values.with_mistakes(obj)
        if self._random.random() < 0.5 and isinstance(new.get("metadata"), dict):
            new["metadata"].pop("resourceVersion", None)
        return self._json("PUT", path, new)

    def _patch(self) -> FuzzedRequest:
        path, obj = self._known()
        content_type = self._random.choice((MERGE_PATCH, STRATEGIC_PATCH, JSON_PATCH))
        if content_type == JSON_PATCH:
            count = self._random.choice((1, 1, 2, 3))
            return self._json(
                "PATCH", path, [self._operation(obj) for _ in range(count)], content_type
            )
        changed = self._values.with_mistakes(obj, 4)
        wanted = [key for key in changed if self._random.random() < 0.6]
        patch = {key: changed[key] for key in wanted}
        if content_type == STRATEGIC_PATCH and self._random.random() < 0.3:
            patch = self._with_directive(patch)
        return self._json("PATCH", path, patch, content_type)

    def _with_directive(self, patch: dict[str, Any]) -> dict[str, Any]:
        patch = copy.deepcopy(patch)
        holders = [patch]
        for holder in holders[:50]:
            for value in holder.values():
                items = value if isinstance(value, list) else [value]
                holders += [item for item in items if isinstance(item, dict)]
        holder = self._random.choice(holders)
        key = self._random.choice(list(holder)) if holder else "x"
        directive = self._random.choice(
            ("$patch", "$retainKeys", f"$setElementOrder/{key}", f"$deleteFromPrimitiveList/{key}")
        )
        holder[directive] = self._random.choice(
            ("replace", "delete", "merge", [], ["a"], [{}], 1, None)
        )
        return patch

    def _operation(self, obj: Any) -> dict[str, Any]:
        path = ""
        while isinstance(obj, dict | list) and obj and self._random.random() < 0.8:
            key = self._random.choice(list(obj) if isinstance(obj, dict) else range(len(obj)))
            path += "/" + str(key).replace("~", "~0").replace("/", "~1")
            obj = obj[key]
        if self._random.random() < 0.2:
            path = self._random.choice((*POINTERS, path + "/-", path + "/" + "9" * 30, path + "/x"))
        operation = {
            "op": self._random.choice(("add", "remove", "replace", "move", "copy", "test", "x")),
            "path": path,
            "value": self._random.choice(JUNK),
        }
        if self._random.random() < 0.4:
            operation["from"] = self._random.choice((*POINTERS, path))
        return operation

    def _apply(self) -> FuzzedRequest:
        path, obj = self._known()
        kept = [key for key in obj if key != "metadata" and self._random.random() < 0.8]
        config = {key: obj[key] for key in kept}
        metadata = obj.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else "a"
        config["metadata"] = {"name": name}
        config = self._values.with_mistakes(config, 2)
        manager = self._random.choice(("m", "n", "o", ""))
        force = "&force=true" if self._random.random() < 0.4 else ""
        return self._json("PATCH", f"{path}?fieldManager={manager}{force}", config, APPLY_PATCH)

    def _delete(self) -> FuzzedRequest:
        if self._random.random() < 0.04:
            return self._json("DELETE", self._kind().collection, {}, "application/json")
        path, obj = self._known()
        options: dict[str, Any] = {}
        if self._random.random() < 0.5:
            policy = self._random.choice(("Foreground", "Background", "Orphan", "x"))
            options = {
                "propagationPolicy": policy,
                "gracePeriodSeconds": self._random.choice((0, 5, -1)),
            }
            options = self._values.with_mistakes(options, 1)
        if self._random.random() < 0.3:
            metadata = obj["metadata"] if isinstance(obj.get("metadata"), dict) else {}
            names = [name for name in ("uid", "resourceVersion") if self._random.random() < 0.5]
            options["preconditions"] = self._values.with_mistakes(
                {name: metadata.get(name, "x") for name in names}, 1
            )
        return self._json("DELETE", path, options)

    def _read(self) -> FuzzedRequest:
        path, _ = self._known()
        if self._random.random() < 0.5:
            path = path.rpartition("/")[0]
        query = self._query(self._random.choice((0, 0, 1, 2, 3)))
        if self._random.random() < 0.15:
            query += [("watch", "1"), ("timeoutSeconds", "1")]
        return FuzzedRequest("GET", self._target(path, query), self._accept(), b"")

    def _subresource(self) -> FuzzedRequest:
        path, obj = self._known()
        path += "/" + self._random.choice(SUBRESOURCES)
        method = self._random.choice(("GET", "PUT", "PATCH", "POST"))
        body = self._values.with_mistakes(obj)
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        return self._json(method, path, body, content_type)

    def _page(self) -> FuzzedRequest:
        path = self._kind().everywhere
        query = [("limit", self._random.choice(("1", "2", "5")))]
        if self._random.random() < 0.5:
            query.append(("continue", self._random.choice(self._tokens)))
        elif self._random.random() < 0.3:
            match = self._random.choice(("Exact", "NotOlderThan"))
            version = str(self._random.randrange(1000, 3000))
            query += [("resourceVersion", version), ("resourceVersionMatch", match)]
        query += self._query(self._random.choice((0, 0, 1)))
        return FuzzedRequest("GET", self._target(path, query), self._accept(), b"")

    # -- what needs several fields to fit

    def _feature(self) -> FuzzedRequest:
        [make] = self._random.choices(list(FEATURES), list(FEATURES.values()))
        method, path, body = make(self._random)
        if path.startswith(CRDS):
            self._set_webhooks([(body.get("spec", {}).get("conversion") or {}).get("webhook")])
        self._set_webhooks(body.get("webhooks", ()))
        name = body.get("metadata", {}).get("name", "a")
        if body.get("kind") == "Gadget" and self._random.random() < 0.7:
            fields = self._values.of(self._gadget_schema, 1, 0.02)
            body |= fields if isinstance(fields, dict) else {}
        if self._random.random() < 0.3:
            body = self._values.with_mistakes(body, 2)
        if method == "PATCH":
            content_type = self._random.choice((MERGE_PATCH, MERGE_PATCH, STRATEGIC_PATCH))
            if self._random.random() < 0.3:
                content_type, path = APPLY_PATCH, f"{path}?fieldManager=f&force=true"
            return self._json(method, path, body, content_type)
        if method == "POST" and self._random.random() < 0.2:
            return self._json("PATCH", f"{path}/{quote(name)}", body, MERGE_PATCH)
        return self._json(method, path, body)

    def _set_webhooks(self, webhooks: Sequence[dict[str, Any] | None]) -> None:
        for webhook in webhooks:
            if webhook and (path := webhook["clientConfig"].get("odd")):
                webhook["clientConfig"] = self._client_config(path)

    def _review(self) -> FuzzedRequest:
        path = self._random.choice(REVIEWS)
        version, plural = path.removeprefix("/apis/").partition("/")[0], path.rpartition("/")[2]
        schema: Mapping[str, Any] = next(
            (
                schema
                for name, schema in self._components.items()
                if f"{name.rpartition('.')[2]}s".lower() == plural and ".v1." in name
            ),
            {},
        )
        kind = schema.get("x-kubernetes-group-version-kind", [{"kind": "x"}])[0]["kind"]
        return self._json("POST", path, self._values.object_of(f"{version}/v1", kind, schema))

    # -- other forms of bodies

    def _yaml(self) -> FuzzedRequest:
        kind = self._kind()
        obj = self._object(kind)
        try:
            text = yaml.safe_dump(obj, allow_unicode=True)
        except (yaml.YAMLError, UnicodeError, RecursionError):
            text = ""
        if self._random.random() < 0.6:
            position = self._random.randrange(len(text) + 1)
            text = text[:position] + self._random.choice(_YAML) + text[position:]
        body = text.encode("utf-8", "replace")
        if self._random.random() < 0.3:
            target = f"{kind.collection}/{self._values.name()}?fieldManager=y"
            return FuzzedRequest("PATCH", target, (("Content-Type", APPLY_PATCH),), body)
        headers = (("Content-Type", "application/yaml"), *self._accept())
        return FuzzedRequest("POST", kind.collection, headers, body)

    def _protobuf(self) -> FuzzedRequest:
        kind = self._kind()
        body = self._values.protobuf(kind.api_version, kind.kind)
        headers = (("Content-Type", "application/vnd.kubernetes.protobuf"), *self._accept())
        if self._random.random() < 0.3:
            return FuzzedRequest("PUT", f"{kind.collection}/{self._values.name()}", headers, body)
        return FuzzedRequest("POST", kind.collection, headers, body)

    def _large(self) -> FuzzedRequest:
        return self._random.choice(LARGE)()

    # -- definitions and custom resources

    def _definition(self) -> FuzzedRequest:
        crd = widget_crd()
        version = crd["spec"]["versions"][0]
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        properties["spec"] = {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3},
                "list": {"type": "array", "items": {"type": "string"}, "maxItems": 9},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "text": {
                    "type": "string",
                    "pattern": self._random.choice((*PATTERNS, *"abcdefgh")),
                },
            },
        }
        if self._random.random() < 0.5:
            rule = self._random.choice((*SPEC_RULES, *RULES))
            properties["spec"]["x-kubernetes-validations"] = [{"rule": rule, "message": "m"}]
        if self._random.random() < 0.3:
            version["subresources"]["scale"] = {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.size",
            }
        crd = self._values.with_mistakes(crd, self._random.choice((0, 1, 3)))
        if self._random.random() < 0.4:
            return self._json("PATCH", f"{CRDS}/widgets.example.com", crd, MERGE_PATCH)
        if self._random.random() < 0.1:
            return FuzzedRequest("DELETE", f"{CRDS}/widgets.example.com", (), b"")
        return self._json("POST", CRDS, crd)

    def _widget(self) -> FuzzedRequest:
        obj = self._values.with_mistakes(OBJECTS[WIDGETS], 3)
        path = f"{WIDGETS}/{self._random.choice(NAMES)}"
        match self._random.randrange(5):
            case 0:
                return self._json("PUT", path, obj)
            case 1:
                return self._json("PATCH", path, obj, MERGE_PATCH)
            case 2:
                return self._json("PATCH", f"{path}?fieldManager=w", obj, APPLY_PATCH)
            case 3:
                return FuzzedRequest(
                    "GET", path + self._random.choice(("", "/scale")), self._accept(), b""
                )
        return self._json("POST", WIDGETS, obj)

    # -- anything else

    def _anything(self) -> FuzzedRequest:
        path = self._random.choice(OTHER_PATHS)
        if self._random.random() < 0.4:
            path = f"{self._kind().collection}/{quote(self._values.text(), safe='*')}"
        method = self._random.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
        headers = [("Content-Type", self._random.choice(CONTENT_TYPES)), *self._accept()]
        if self._random.random() < 0.2:
            origin = self._random.choice(
                ("null", "http://evil.example.com", "http://localhost", "x")
            )
            headers.append(
                (self._random.choice(("Origin", "Sec-Fetch-Site", "X-Remote-User")), origin)
            )
        if self._random.random() < 0.2:
            headers.append(("Authorization", self._random.choice(("Bearer x", "Basic eA==", "x"))))
        if self._random.random() < 0.2:
            headers += [("Impersonate-User", self._values.text()), ("Impersonate-Group", "g")]
        body = self._random.choice(RAW_BODIES)
        if self._random.random() < 0.3:
            body = self._random.randbytes(self._random.randrange(40))
        return FuzzedRequest(method, self._target(path, self._query(2)), tuple(headers), body)

    def _stream(self) -> bytes:
        count = self._random.randrange(10)
        parts = [self._random.choice(FRAGMENTS) for _ in range(count)]
        if self._random.random() < 0.5:
            parts.insert(0, self._create().encode()[: self._random.randrange(400)])
        return b"".join(parts)

    # -- parts

    def _json(
        self, method: str, path: str, body: Any, content_type: str = "application/json"
    ) -> FuzzedRequest:
        query = self._query(self._random.choice((0, 0, 0, 0, 1)))
        headers = (("Content-Type", content_type), *self._accept())
        return FuzzedRequest(method, self._target(path, query), headers, json.dumps(body).encode())

    def _query(self, count: int) -> list[tuple[str, str]]:
        names = [self._random.choice(sorted(QUERY)) for _ in range(count)]
        return [
            (name, self._random.choice(QUERY[name]) if self._random.random() < 0.9 else "9" * 5000)
            for name in names
        ]

    def _target(self, path: str, query: list[tuple[str, str]]) -> str:
        if not query:
            return path
        return path + ("&" if "?" in path else "?") + urlencode(query, errors="replace")

    def _accept(self) -> tuple[tuple[str, str], ...]:
        if self._random.random() < 0.85:
            return ()
        if self._random.random() < 0.1:
            return (("Accept-Encoding", "gzip"),)
        return (("Accept", self._random.choice(ACCEPTS)),)
