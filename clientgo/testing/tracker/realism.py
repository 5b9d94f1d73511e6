"""What a fake simulates of a server's own work; nothing, unless a test asks for it.

Each is a switch because a unit test compares what the controller sent with what it should have
sent, and everything that a server adds stands in the way of that.
"""

from __future__ import annotations

import enum


class Realism(enum.Flag):
    """Switches of a fake, joined with ``|``."""

    NONE = 0

    VERSIONS = enum.auto()
    """Objects carry a resource version; an update that has an old one is a conflict."""

    NAMES = enum.auto()
    """``generateName`` makes a name: ``web-`` becomes ``web-00001``, then ``web-00002``."""

    IDENTITY = enum.auto()
    """Objects get a uid and a creation time, and keep them when they are updated."""

    COLLECTIONS = enum.auto()
    """Deleting a collection deletes what its label selector selects; else it deletes nothing."""

    OWNERSHIP = enum.auto()
    """Fields have owners in ``managedFields``; applying creates, merges and conflicts by them."""

    ONE_COUNTER = enum.auto()
    """All resources share one version counter, so that versions of different kinds compare."""
