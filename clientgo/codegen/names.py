"""Names: how a field of the API is called in Python.

Promises: ``snake_case`` that splits acronyms as a reader would (``podIPs`` is ``pod_ips``,
``insecureSkipTLSVerify`` is ``insecure_skip_tls_verify``), and never a keyword.
"""

from __future__ import annotations

import keyword
import re

_WORD = re.compile(
    r"""
    [A-Z]+s(?![a-z])            # a plural acronym: IPs, URLs
    | [A-Z]+(?![a-z0-9])        # an acronym that the next word ends
    | [A-Z]?[a-z0-9]+
    """,
    re.VERBOSE,
)
_SHADOWING = {"bool", "bytes", "dict", "field", "float", "int", "list", "str"}
"""Names that a class body of generated code itself uses."""


def attribute_name(wire: str) -> str:
    """The Python name of a field; ``ValueError`` for one that has no letters."""
    words = [word.lower() for word in _WORD.findall(wire)]
    if not words:
        raise ValueError(f"the field {wire!r} can't be named in Python")
    name = "_".join(words)
    return f"{name}_" if keyword.iskeyword(name) or name in _SHADOWING else name


def camel_case(attribute: str) -> str:
    """The name on the wire that an attribute gets by itself, from ``rename="camel"``."""
    first, *others = attribute.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in others)


def class_name(text: str) -> str:
    """The words of a name run together as a class is called: ``fooBar-baz`` is ``FooBarBaz``."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", text))
