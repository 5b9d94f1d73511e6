"""Importing what was generated."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from types import ModuleType

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
