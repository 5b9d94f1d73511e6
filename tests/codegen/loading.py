"""Generating types and importing them."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from clientgo.codegen.schema_types import Kind, types_module
from clientgo.meta import APIResource, Resource

FOOS = APIResource(group="example.com", version="v1", kind="Foo", plural="foos")
_DIRECTORY = Path(tempfile.mkdtemp(prefix="generated-"))


def load(text: str) -> ModuleType:
    """Import the text of a module, from a file, as its user does."""
    name = f"generated_{hashlib.sha1(text.encode()).hexdigest()}"
    file = _DIRECTORY / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def text_of(schema: dict[str, Any], resource: APIResource = FOOS) -> str:
    """The module that is made of one kind with this schema."""
    return types_module([Kind(resource, schema)], source="a test")


def typed(schema: dict[str, Any], resource: APIResource = FOOS) -> type[Resource]:
    """The class that is made of a kind with this schema."""
    (kind,) = load(text_of(schema, resource)).RESOURCES
    return kind
