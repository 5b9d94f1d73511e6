"""Objects and events as they stand on the wire, for scripts of a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clientgo.testing.scripted_server import RecordedRequest, Script, answer_json

NAMESPACE = "default"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
FOOS = f"/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{NAMESPACE}/foos"


def pod(name: str, version: int = 1, *, uid: str = "", **metadata: Any) -> dict[str, Any]:
    """A small valid Pod; ``uid`` is derived from the name unless it is given."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(name, version, uid) | metadata,
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }


def foo(name: str, version: int = 1) -> dict[str, Any]:
    """A Foo, the custom resource of the sample controller."""
    return {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": _metadata(name, version, ""),
        "spec": {"deploymentName": name, "replicas": 1},
    }


def key(name: str) -> str:
    """The cache key of an object of that name."""
    return f"{NAMESPACE}/{name}"


def keys(*names: str) -> set[str]:
    return {key(name) for name in names}


def listing(*objs: Any, version: int | None = 10, **changes: Any) -> dict[str, Any]:
    """A list as of a resource version; None leaves the version out."""
    metadata = {} if version is None else {"resourceVersion": str(version)}
    kind = objs[0]["kind"] if objs else "Pod"
    api_version = objs[0]["apiVersion"] if objs else "v1"
    content = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": metadata}
    return content | {"items": list(objs)} | changes


def paged_list(objs: Sequence[Any], version: int = 10) -> Callable[[RecordedRequest], Script]:
    """Answers as an API server does that is asked for pages: with a limit and a continue token."""

    def page(request: RecordedRequest) -> Script:
        begin = int(request.query.get("continue", 0))
        end = begin + int(request.query.get("limit", 0)) or len(objs)
        content = listing(*objs[begin:end], version=version)
        if end < len(objs):
            content["metadata"] |= {"continue": str(end), "remainingItemCount": len(objs) - end}
        return answer_json(content)

    return page


def added(obj: Any) -> dict[str, Any]:
    return {"type": "ADDED", "object": obj}


def modified(obj: Any) -> dict[str, Any]:
    return {"type": "MODIFIED", "object": obj}


def deleted(obj: Any) -> dict[str, Any]:
    return {"type": "DELETED", "object": obj}


def bookmark(version: int, **annotations: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return {"type": "BOOKMARK", "object": pod("", version) | {"metadata": metadata}}


def expired() -> dict[str, Any]:
    """The event by which a watch says that its version is no longer kept."""
    return {
        "type": "ERROR",
        "object": {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "too old resource version: 10 (20)",
            "reason": "Expired",
            "code": 410,
        },
    }


def _metadata(name: str, version: int, uid: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": uid or f"uid-of-{name}",
        "resourceVersion": str(version),
    }
