"""Versions of a resource that only a program outside of the server can convert.

Upstream: apiextensions-apiserver ``pkg/apiserver/conversion``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from clientgo.testcluster.server.storage.storage import Object


class Converter(Protocol):
    """Converts objects of one resource between its versions."""

    @property
    def stored_version(self) -> str:
        """The apiVersion that objects are stored in."""

    async def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """Return the objects in a version, in their order.

        Raises:
            FailedRequestError: 500, the conversion failed.
        """
