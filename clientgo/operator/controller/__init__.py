"""A controller: its declaration, its sources, and one run from key to outcome.

::

    sources ──► event router ──► runs ──► cycle ──► reconciler ──► write
                                            └── raised ──► failures
"""

from __future__ import annotations

from clientgo.operator.controller.controller import Controller, ControllerHealth
from clientgo.operator.controller.cycle import Cycle
from clientgo.operator.controller.declaration import ControllerConfig, Declaration, declaration_of
from clientgo.operator.controller.parts import Services
from clientgo.operator.controller.sources import PRIMARY, SourceHealth

__all__ = [
    "PRIMARY",
    "Controller",
    "ControllerConfig",
    "ControllerHealth",
    "Cycle",
    "Declaration",
    "Services",
    "SourceHealth",
    "declaration_of",
]
