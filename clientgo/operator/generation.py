"""The earlier name of ``clientgo.scaffold``, and of ``rbac``; kept for existing imports."""

from __future__ import annotations

from importlib import import_module

from clientgo.operator.permissions import rbac

__all__ = ["rbac"]


def __getattr__(name: str) -> object:
    return getattr(import_module("clientgo.scaffold"), name)
