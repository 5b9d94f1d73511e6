"""The account service of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from examples.database.accounts import AccountService, serving_accounts


@pytest.fixture
def service() -> Iterator[AccountService]:
    with serving_accounts() as service:
        yield service
