"""Lists: of the present or an earlier version, complete or in pages.

Promises: all pages of a list show the state at the first page's resource version. If that history
has expired, a page is a 410 with a token that continues with the present state, as on a real API
server. A continue token has the version and the last key; the server keeps nothing for it.

Upstream: apiserver ``storage/etcd3`` ``GetList``, ``storage/continue.go``, ``SelectionPredicate``.
"""

from __future__ import annotations

import base64
import binascii
from itertools import islice
from typing import Any

import msgspec

from clientgo.meta.decoding import decode
from clientgo.meta.selectors import FieldSelector, Selector
from clientgo.testcluster.server.requests.options import ListQuery
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    expired,
    future_resource_version,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Collection, Storage, StoredObject
from clientgo.testcluster.server.storage.versions import parse_version

INCONSISTENT = -1
"""Version in a token that continues with the present state."""


class Selection(msgspec.Struct, frozen=True):
    """The objects of one namespace (or of all) that match both selectors."""

    namespace: str
    labels: Selector
    fields: FieldSelector

    @property
    def selects_all(self) -> bool:
        """Return True if the selectors match everything."""
        return self.labels.empty and self.fields.empty

    def matches(self, stored: StoredObject) -> bool:
        """Return True if an object is in the namespace and matches both selectors."""
        if self.namespace and not stored.key.startswith(f"{self.namespace}/"):
            return False
        return self.labels.matches(stored.labels) and self.fields.matches(stored.fields)


def selection_of(resource: Resource, namespace: str, options: ListQuery) -> Selection:
    """Return the selection of a request's options.

    Raises:
        FailedRequestError: 400, a field selector names an unsupported field.
    """
    known = {"metadata.name"} | resource.strategy.selectable_fields.keys()
    if resource.namespaced or resource.strategy.selects_absent_namespace:
        known.add("metadata.namespace")
    for requirement in options.field_selector.requirements:
        if requirement.field not in known:
            only = ", ".join(f'"{name}"' for name in sorted(known))
            raise bad_request(f'"{requirement.field}" is not a known field selector: only {only}')
    return Selection(namespace, options.label_selector, options.field_selector)


class ContinueToken(msgspec.Struct):
    """Where the next page begins: after a key, in the state of a version."""

    version: int
    start: str

    def encode(self) -> str:
        """Return the token as text."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).rstrip(b"=").decode()

    @classmethod
    def parse(cls, text: str) -> ContinueToken:
        """Read a token.

        Raises:
            FailedRequestError: 400, it is not a token of this server.
        """
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            return decode(raw, cls)
        except (binascii.Error, ValueError) as error:
            raise bad_request(
                f"invalid continue token: continue key is not valid: {error}"
            ) from error


class ListPage(msgspec.Struct, frozen=True):
    """The objects of a response and its list metadata."""

    items: list[StoredObject]
    metadata: dict[str, Any]


def list_page(
    storage: Storage, collection: Collection, selection: Selection, options: ListQuery
) -> ListPage:
    """Find the objects that a list asks for.

    Raises:
        FailedRequestError: 400 for options, 410 for expired history, 504 for a future version.
    """
    if options.continue_token:
        return _next_page(storage, collection, selection, options)
    version = parse_list_version(options.resource_version)
    if version > storage.version:
        raise future_resource_version(version, storage.version)
    exact = options.match == "Exact" or bool(options.limit and version and not options.match)
    at = version if exact else None
    if at is not None and at < collection.expired:
        raise expired("The resourceVersion for the provided list is too old.")
    # The cache of a real server, which answers this, has no pages.
    limit = 0 if options.resource_version == "0" else options.limit
    return _page(storage, collection, selection, limit, at, after="")


def parse_list_version(text: str) -> int:
    """Return the resource version in a list's options; 0 if it is missing.

    Raises:
        FailedRequestError: 400, it is no number.
    """
    if not text:
        return 0
    version = parse_version(text)
    if version is None:
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return version


def _next_page(
    storage: Storage, collection: Collection, selection: Selection, options: ListQuery
) -> ListPage:
    if options.resource_version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    token = ContinueToken.parse(options.continue_token)
    at = token.version if token.version > 0 else storage.version
    if at < collection.expired:
        raise _expired_token(token)
    return _page(storage, collection, selection, options.limit, at, token.start)


def _expired_token(token: ContinueToken) -> FailedRequestError:
    return expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the first chunk was returned and now may show up in the list.",
        ContinueToken(INCONSISTENT, token.start).encode(),
    )


def _page(
    storage: Storage,
    collection: Collection,
    selection: Selection,
    limit: int,
    at: int | None,
    after: str,
) -> ListPage:
    past = at is not None and at < storage.version
    found = (
        iter(collection.scan_at(at, selection.namespace, after))
        if at is not None and past
        else collection.scan(selection.namespace, after)
    )
    version = at if at is not None and past else storage.version
    if not selection.selects_all:
        found = (item for item in found if selection.matches(item))
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if not limit:
        return ListPage(list(found), metadata)
    items = list(islice(found, limit))
    if len(items) == limit and next(found, None) is not None:
        metadata["continue"] = ContinueToken(version, items[-1].key).encode()
        if selection.selects_all:
            metadata["remainingItemCount"] = 1 + sum(1 for _ in found)
    return ListPage(items, metadata)
