"""Label selectors of admission: a write that is admitted later must be able to read them."""

from __future__ import annotations

from collections.abc import Iterator

from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.storage.storage import Object


def selector_errors(holder: Object, path: str, *fields: str) -> Iterator[FieldError]:
    """Yield the errors of the label selectors in some fields of an object."""
    for field in fields:
        selector = holder.get(field)
        try:
            selector_from_object(selector)
        except SelectorError as error:
            yield FieldError.invalid(f"{path}.{field}", selector, str(error))
