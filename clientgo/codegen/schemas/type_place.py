"""Where in a type the generator is, and the error that says what is wrong there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clientgo.util.copies import CopyableError


class TypeSchemaError(CopyableError, ValueError):
    """A type cannot be said as a structural schema.

    ``field`` names the place by Python's names (``Foo.spec.ports[].size``), ``problem`` says what
    is the matter and ``remedy`` what to write instead.
    """

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy

    @classmethod
    def of(cls, errors: Sequence[TypeSchemaError]) -> TypeSchemaError:
        """Return one error that says what several say, a line each, and remedies once."""
        field = errors[0].field
        text = ";\n".join(f"{error.field}: {error.problem}" for error in errors)
        remedies = ", and ".join(dict.fromkeys(error.remedy for error in errors))
        return cls(field, text.removeprefix(f"{field}: "), remedies)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a type, such as ``Foo.spec.ports[]``, and the classes around it."""

    path: str
    classes: tuple[type, ...] = ()

    def below(self, step: str) -> Place:
        return Place(self.path + step, self.classes)

    def inside(self, cls: type) -> Place:
        return Place(self.path, (*self.classes, cls))

    def error(self, problem: str, remedy: str) -> TypeSchemaError:
        return TypeSchemaError(self.path, problem, remedy)
