"""Actions: what a client asked of the API, as values that a test compares and a reactor answers.

Promises that an action says everything that went into the request: what for, about which object,
with which body and options. Bodies are plain JSON values.

Differs from client-go (``testing`` Action), which has an interface for each verb: here one value
serves them all, and comparing two of them compares everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from clientgo.meta import BadRequestError, GroupVersionResource
from clientgo.testcluster.server import parse_path

ANY: Final = "*"
"""Matches every verb, or every resource."""


class Verb(StrEnum):
    """What is asked. A server-side apply is a PATCH, as it is on the wire."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "delete-collection"


@dataclass(frozen=True, slots=True)
class Action:
    """One request to the API.

    ``body`` is the object, the patch or the delete options; ``patch_kind`` says how to read a
    patch; ``options`` are the query parameters, ``{"fieldManager": "me"}``. What is asked of no
    resource, such as discovery, has the path in place of the resource: ``"/apis"``.

    ``str(action)`` is short: ``update foos/status default/example``.
    """

    verb: Verb
    resource: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    body: Any = None
    patch_kind: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def matches(self, verb: str, resource: str) -> bool:
        """Whether it is this verb on this resource, whatever the case; ``"*"`` is any.

        ``"pods"`` is also every subresource of pods, ``"pods/status"`` that one alone.
        """
        return verb.lower() in (ANY, self.verb) and resource.lower() in (
            ANY,
            self.resource.resource.lower(),
            self._resource_path.lower(),
        )

    def __str__(self) -> str:
        about = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.verb, self._resource_path, about) if part)

    @property
    def _resource_path(self) -> str:
        plural = self.resource.resource
        return f"{plural}/{self.subresource}" if self.subresource else plural


def action_of(method: str, url: str, body: bytes, content_type: str) -> Action:
    """The action that an HTTP request is.

    Raises :class:`~clientgo.meta.BadRequestError` for a body that is no JSON.
    """
    parts = urlsplit(url)
    path, options = unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True))
    found = parse_path(path)
    if found is None:
        return Action(Verb.GET, GroupVersionResource("", "", path), options=options)
    sent = _json(body)
    verb = _verb(method, found.name, options.pop("watch", ""))
    return Action(
        verb,
        GroupVersionResource(found.group, found.version, found.resource),
        namespace=found.namespace,
        name=found.name or (_name_in(sent) if verb is Verb.CREATE else ""),
        subresource=found.subresource,
        body=sent,
        patch_kind=content_type if verb is Verb.PATCH else "",
        options=options,
    )


def _verb(method: str, name: str, watch: str) -> Verb:
    if method == "GET":
        if name:
            return Verb.GET
        return Verb.WATCH if watch == "true" else Verb.LIST
    if method == "DELETE":
        return Verb.DELETE if name else Verb.DELETE_COLLECTION
    return {"POST": Verb.CREATE, "PUT": Verb.UPDATE, "PATCH": Verb.PATCH}[method]


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError as error:
        raise BadRequestError.of(f"the body is no JSON: {error}; got {body[:120]!r}") from error


def _name_in(sent: Any) -> str:
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
