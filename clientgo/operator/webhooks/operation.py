"""What is about to happen to the object of an admission review."""

from __future__ import annotations

import enum


class Operation(enum.StrEnum):
    """The operations of ``admission.k8s.io``; the values are those on the wire."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"
