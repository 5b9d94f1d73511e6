"""Parts of requests, right and wrong: parameters, headers, bodies and paths."""

from __future__ import annotations

import json
from typing import Any

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
    "application/json",
    "application/yaml",
    "*/*",
    "text/html",
    "",
    ",",
    ";",
    "a;q=x",
    "*/*;q=nan",
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
    "application/json",
    "application/yaml",
    "text/plain",
    "",
    ";",
    "application/json; charset=x",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    JSON_PATCH,
    APPLY_PATCH,
    "application/vnd.kubernetes.protobuf",
    "application/apply-patch+cbor",
]

RAW_BODIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"1e999",
    b"NaN",
    b'{"a":1,"a":2}',
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b"{}",
    b'"x"',
    b"[" * 5000,
    b'{"a":' * 5000,
    b"a: &a [*a]",
    b"- - - -",
    b"? {a: 1}\n: 2",
    b"\t",
    b"!!python/object:os.system x",
    b"k8s\0\n",
    b"a: 2020-01-01",
    b"1: 2",
    b"<<: 1",
    b"9" * 5000,
    b'{"metadata":{"name":"\\ud800"}}',
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"data":{"k":"\xff"}}',
    b"a: &a [x,x,x,x,x,x,x,x,x]\n"
    + b"\n".join(
        b"%c: &%c [%s]" % (n, n, b",".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 110)
    ),
]

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
    "/",
    "/api",
    "/apis",
    "/apis/",
    "/api/v1",
    "/apis/apps",
    "/version",
    "/healthz",
    "/readyz/x",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/api/v1",
    "/openapi/v3/apis/x/v1",
    "/metrics",
    "/logs",
    "/api/v1/watch/pods",
    "/api/v1//pods",
    "//",
    "/../etc/passwd",
    "/api/v1/namespaces/%00",
    "/%ff",
    "/api/v1/pods/",
    "/apis/apps/v1/namespaces//deployments",
    "/api/v1/namespaces/a%2Fb/pods/c",
]

FRAGMENTS = [
    b"GET / HTTP/1.1\r\n",
    b"POST /api/v1/namespaces HTTP/1.1\r\n",
    b"Host: localhost\r\n",
    b"\r\n",
    b"\n",
    b"\0",
    b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: x\r\n",
    b"GET /api HTTP/2.0\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"0\r\n\r\n",
    b"5\r\n",
    b"Connection: upgrade\r\nUpgrade: websocket\r\n",
    b"Expect: 100-continue\r\n",
    b"hello",
    b" folded\r\n",
    b"CONNECT x:1 HTTP/1.1\r\n",
    b"OPTIONS * HTTP/1.1\r\n",
    b"GET http://x/api HTTP/1.1\r\n",
    b": x\r\n",
    b"GET /%zz HTTP/1.1\r\n",
    b"GET \xff HTTP/1.1\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"ffffffff\r\n",
    b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n",
    b"X: " + b"y" * 5000 + b"\r\n",
    b"Connection: close\r\n",
    b"GET /api?" + b"a=b&" * 2000 + b" HTTP/1.1\r\n",
    b"\x16\x03\x01\x02\x00",
    b"Host: localhost\r\n\r\n",
]


def encode(value: Any) -> bytes:
    """JSON as a sloppy client writes it: NaN, halves of characters."""
    return json.dumps(value).encode()
