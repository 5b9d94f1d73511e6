"""CEL, the Common Expression Language, as Kubernetes uses it.

    source ──► parser ──► syntax tree ──► compiler ──► Program ──► evaluate(values)
                                             │
                              variables and functions (Environment)

Validation rules of custom resources and match conditions of webhooks are such programs.

>>> program = Environment({"object": DYN}).compile("object.metadata.name.startsWith('x-')")
>>> program.evaluate({"object": {"metadata": {"name": "x-1"}}})
True
"""

from clientgo.testcluster.cel.environment import Environment, Program
from clientgo.testcluster.cel.errors import (
    BudgetExceededError,
    CelCompileError,
    CelError,
    CelEvaluationError,
    NoSuchOverloadError,
)
from clientgo.testcluster.cel.scope import Budget
from clientgo.testcluster.cel.types import BOOL, DYN, STRING, CelType, optional_of

__all__ = [
    "Environment",
    "Program",
    "Budget",
    "CelError",
    "CelCompileError",
    "CelEvaluationError",
    "NoSuchOverloadError",
    "BudgetExceededError",
    "CelType",
    "BOOL",
    "DYN",
    "STRING",
    "optional_of",
]
