"""What the value of an expression of a policy or webhook may be.

Upstream: ``mustBuildEnvs`` and ``CompileCELExpression`` in apiserver ``admission/plugin/cel``.
"""

from __future__ import annotations

from collections.abc import Sequence

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.cel import CelType


def type_errors(
    source: str, path: str, wanted: Sequence[CelType], found: CelType
) -> list[FieldError]:
    """Return an error if the value of an expression may be of none of some types.

    A value whose type is not known is of none of them, such as ``object.spec.paused``.
    """
    if found in wanted:
        return []
    names = str(wanted[0]) if len(wanted) == 1 else f"one of [{' '.join(map(str, wanted))}]"
    return [FieldError.invalid(path, source, f"must evaluate to {names} but got {found}")]
