"""Which objects of a collection a request means: namespace, name, labels and fields.

Promises: one value decides for lists, watches and deletions of collections alike.

Upstream: apiserver ``storage.SelectionPredicate``.
"""

from __future__ import annotations

from dataclasses import dataclass

from clientgo.apiserver.requests.options import ListOptions
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import bad_request
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
        """Whether the selectors let everything through."""
        return self.labels.empty and self.fields.empty

    def matches(self, stored: StoredObject) -> bool:
        """Whether an object is meant; its namespace is looked at too."""
        if self.namespace and not stored.key.startswith(f"{self.namespace}/"):
            return False
        return self.labels.matches(stored.labels) and self.fields.matches(stored.fields)


def selection_of(resource: Resource, namespace: str, options: ListOptions) -> Selection:
    """The selection that a request's options describe.

    Raises:
        StatusError: 400, a field selector names a field that the resource does not select by.
    """
    known = {"metadata.name", "metadata.namespace"} | resource.strategy.selectable_fields.keys()
    for requirement in options.field_selector.requirements:
        if requirement.field not in known:
            only = ", ".join(f'"{name}"' for name in sorted(known))
            raise bad_request(f'"{requirement.field}" is not a known field selector: only {only}')
    return Selection(namespace, options.label_selector, options.field_selector)
