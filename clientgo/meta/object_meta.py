"""The header that every API object carries: ``metadata``.

Promises the fields that controllers read, decoded eagerly, in a form that the cyclic garbage
collector never has to visit (``gc=False`` Structs, tuples, dicts of strings). Fields that are not
declared here, ``managedFields`` above all, are not lost: they stay in the object's raw JSON.
Upstream: apimachinery ``meta/v1`` types ObjectMeta, OwnerReference, ListMeta.
"""

from __future__ import annotations

from msgspec import Struct, field


class OwnerReference(Struct, rename="camel", kw_only=True, gc=False, omit_defaults=True):
    """Says that another object owns this one; at most one reference has ``controller`` set."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct, rename="camel", kw_only=True, gc=False, omit_defaults=True):
    """Name, identity, version, labels and ownership of an object.

    Times are the API's own text (RFC 3339); :mod:`clientgo.meta.timestamps` converts. An empty
    string or collection, or None, means that the server did not send the field. The times take a
    null as well, because servers write one into every pod template.
    """

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class ListMeta(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """The header of a list: its version and, when there are more pages, where they go on."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None
