"""The text of a generated Python module.

Promises valid, deterministic text, whatever names and descriptions the source has: text from there
becomes a literal or a docstring, never code. Does not promise its layout: long lines stay long,
and the caller lets the project's formatter break them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from clientgo.codegen.names import camel_case


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a class: its name here and on the wire, and what it is when absent.

    ``default`` is an expression, ``factory`` the name of a callable; without either the field is
    required. ``values`` are those that a string is known to take, ``doc`` is what it means.
    """

    attribute: str
    wire: str
    annotation: str
    default: str = ""
    factory: str = ""
    values: tuple[str, ...] = ()
    doc: str = ""

    @property
    def required(self) -> bool:
        return not (self.default or self.factory)

    def lines(self) -> Iterator[str]:
        if self.values:
            yield from textwrap.wrap(
                " | ".join(self.values), 94, initial_indent="    # ", subsequent_indent="    # "
            )
        yield f"    {self.attribute}: {self.annotation}{self._right_side()}"
        if self.doc:
            yield docstring(self.doc)

    def _right_side(self) -> str:
        arguments = []
        if self.factory:
            arguments.append(f"default_factory={self.factory}")
        if camel_case(self.attribute) != self.wire:
            arguments.append(f"name={self.wire!r}")
            if self.default:
                arguments.append(f"default={self.default}")
        if arguments:
            return f" = field({', '.join(arguments)})"
        return f" = {self.default}" if self.default else ""


@dataclass(frozen=True, slots=True)
class Class:
    """A class of fields."""

    name: str
    base: str
    fields: tuple[Field, ...]
    docstring: str = ""
    decorator: str = ""

    def text(self) -> str:
        lines = [self.decorator] if self.decorator else []
        lines.append(f"class {self.name}({self.base}):")
        if self.docstring:
            lines.append(docstring(self.docstring))
            if self.fields:
                lines.append("")
        lines += (line for declared in self.fields for line in declared.lines())
        if not (self.docstring or self.fields):
            lines.append("    pass")
        return "\n".join(lines) + "\n"


def docstring(text: str) -> str:
    """A docstring in a class, wrapped; what could end it or is invisible is escaped."""
    lines = [
        line
        for written in text.strip().splitlines() or [""]
        for line in textwrap.wrap(escaped(written), 94, break_long_words=False) or [""]
    ]
    lines[0] = f'"""{lines[0]}'
    if len(lines) > 1 or lines[0].endswith('"'):
        lines.append('"""')
    else:
        lines[0] += '"""'
    return "\n".join(f"    {line}" if line else "" for line in lines)


def escaped(text: str) -> str:
    """A line of text as it stands in a docstring: it reads the same, and cannot end it."""
    text = text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


@dataclass(slots=True)
class Module:
    """What one module declares, in order, and the names that it needs from elsewhere."""

    docstring: str
    classes: list[Class] = field(default_factory=list)
    resources: list[Class] = field(default_factory=list)
    imports: dict[str, set[str]] = field(default_factory=dict)

    def use(self, home: str, name: str) -> str:
        """Import ``name`` from the module ``home``, and return it."""
        self.imports.setdefault(home, set()).add(name)
        return name

    def text(self) -> str:
        classes = "\n\n".join(declared.text() for declared in self.classes + self.resources)
        if " = field(" in classes:
            self.use("msgspec", "field")
        imports = "".join(
            f"from {home} import {', '.join(sorted(names))}\n"
            for home, names in sorted(self.imports.items())
        )
        parts = [f'"""{self.docstring}"""\n', "from __future__ import annotations\n", imports]
        parts += ["", classes]
        if self.resources:
            parts += ["", self._resources_text()]
        return "\n".join(parts)

    def _resources_text(self) -> str:
        names = "".join(f"{kind.name}, " for kind in self.resources)
        return (
            f"RESOURCES: tuple[type[Resource], ...] = ({names})\n"
            '"""The kinds that this module declares."""\n'
        )
