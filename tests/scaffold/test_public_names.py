"""The names that projects import."""

from __future__ import annotations

import clientgo.operator.generation as earlier
from clientgo import scaffold
from clientgo.operator.permissions import rbac


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(scaffold, name) for name in scaffold.__all__)


def test_the_earlier_package_leads_to_the_same_names() -> None:
    assert earlier.rbac is rbac
    assert earlier.install_kinds is scaffold.install_kinds
