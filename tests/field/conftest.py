"""A field with this library's informer, for tests that look at it from inside too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.field.clientgo_subject import ClientgoSubject
from tests.field.scenario import Field


@pytest.fixture
def field() -> Iterator[Field]:
    with Field(ClientgoSubject) as field:
        yield field
    field.ends()
