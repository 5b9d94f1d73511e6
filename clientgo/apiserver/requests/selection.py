"""The objects of a collection that a request selects: by namespace, labels and fields.

Promises: lists, watches and deletions of collections select by the same value.

Upstream: apiserver ``storage.SelectionPredicate``.
"""

from __future__ import annotations

from dataclasses import dataclass

from clientgo.apiserver.requests.options import ListQuery
from clientgo.apiserver.resources.errors import bad_request
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.storage.storage import StoredObject
from clientgo.meta.field_selectors import FieldSelector
from clientgo.meta.label_selectors import Selector


@dataclass(frozen=True, slots=True)
class Selection:
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
        RequestError: 400, a field selector names an unsupported field.
    """
    known = {"metadata.name", "metadata.namespace"} | resource.strategy.selectable_fields.keys()
    for requirement in options.field_selector.requirements:
        if requirement.field not in known:
            only = ", ".join(f'"{name}"' for name in sorted(known))
            raise bad_request(f'"{requirement.field}" is not a known field selector: only {only}')
    return Selection(namespace, options.label_selector, options.field_selector)
