"""Rewrite a program for clientgo 0.1: ``python -m clientgo.tools.rewrite_imports DIRECTORY``.

Promises: what is imported, and dotted names such as ``clientgo.wait.until``, in code, texts and
comments, get their paths of 0.2. Nothing else changes. Imports that 0.2 does not have are reported.

Does not promise: to find names that are put together, or changed parameters.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

from clientgo.util.extras import MissingExtraError

MOVED: Final[Mapping[str, str]] = {
    "clientgo.apiserver": "clientgo.testcluster.server",
    "clientgo.cache.FIFO": "clientgo.workqueue.FIFO",
    "clientgo.cel": "clientgo.testcluster.cel",
    "clientgo.certificates": "clientgo.util.certificates",
    "clientgo.certificates.CertificateError": "clientgo.observe.serving.CertificateError",
    "clientgo.certificates.CertificateStatistics": "clientgo.observe.serving.CertificateStatistics",
    "clientgo.certificates.ServingCertificate": "clientgo.observe.serving.ServingCertificate",
    "clientgo.cli": "clientgo.tools.cli",
    "clientgo.clock": "clientgo.util.clock",
    "clientgo.debug": "clientgo.observe.debug",
    "clientgo.extras": "clientgo.util.extras",
    "clientgo.flowcontrol": "clientgo.util.flowcontrol",
    "clientgo.logs": "clientgo.observe.logs",
    "clientgo.meta.managed_fields": "clientgo.testcluster.fields.managed_fields",
    "clientgo.meta.managed_fields.upgrade_managed_fields": (
        "clientgo.meta.patches.upgrade_managed_fields"
    ),
    "clientgo.meta.managed_fields.upgrade_managed_fields_patch": (
        "clientgo.meta.patches.upgrade_managed_fields_patch"
    ),
    "clientgo.meta.patches.MergeStrategy": (
        "clientgo.testcluster.fields.strategic_merge.MergeStrategy"
    ),
    "clientgo.meta.patches.PatchField": "clientgo.testcluster.fields.strategic_merge.PatchField",
    "clientgo.meta.patches.PatchSchema": "clientgo.testcluster.fields.strategic_merge.PatchSchema",
    "clientgo.meta.patches.apply_strategic_merge_patch": (
        "clientgo.testcluster.fields.strategic_merge.apply_strategic_merge_patch"
    ),
    "clientgo.meta.patches.strategic_merge": "clientgo.testcluster.fields.strategic_merge",
    "clientgo.metrics": "clientgo.observe.metrics",
    "clientgo.operator.aio": "clientgo.operator.addons.coroutines",
    "clientgo.operator.aio.AsyncClient": "clientgo.aio.AsyncClient",
    "clientgo.operator.aio.EventLoop": "clientgo.aio.EventLoop",
    "clientgo.operator.changes": "clientgo.operator.addons.changes",
    "clientgo.operator.dependents": "clientgo.operator.addons.dependents",
    "clientgo.operator.sources.PerResourcePollingSource": (
        "clientgo.operator.addons.polling.PerResourcePollingSource"
    ),
    "clientgo.operator.sources.PollingSource": "clientgo.operator.addons.polling.PollingSource",
    "clientgo.operator.sources.poll": "clientgo.operator.addons.polling.poll",
    "clientgo.operator.tasks": "clientgo.operator.addons.tasks",
    "clientgo.process": "clientgo.util.process",
    "clientgo.scaffold": "clientgo.tools.scaffold",
    "clientgo.schema": "clientgo.testcluster.schema",
    "clientgo.serving": "clientgo.observe.serving",
    "clientgo.study": "clientgo.tools.study",
    "clientgo.text": "clientgo.util.text",
    "clientgo.trace": "clientgo.observe.trace",
    "clientgo.wait": "clientgo.util.wait",
    "clientgo.workloads": "clientgo.testcluster.workloads",
}
"""Packages of 0.1 with all that is in them, and names that do not follow their package."""

_DOTTED: Final = re.compile(r"(?<![\w.])clientgo(?:\.[A-Za-z_]\w*)+")
_LINE: Final = 100


def new_path(path: str) -> str:
    """Return the path in 0.2 of a module or name of 0.1."""
    parts = path.split(".")
    for end in range(len(parts), 1, -1):
        if moved := MOVED.get(".".join(parts[:end])):
            return ".".join([moved, *parts[end:]])
    return path


def rewritten(text: str) -> str:
    """Return what a program becomes. Raises ``SyntaxError`` if it is no Python."""
    done, code = [], text.encode()
    position = 0
    for statement in _from_imports(text):
        start, end = _span(code, statement)
        done += [_with_new_paths(code[position:start].decode()), _new_imports(statement, code)]
        position = end
    return "".join([*done, _with_new_paths(code[position:].decode())])


def missing(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and path of each import that this clientgo does not have."""
    for statement in _from_imports(text):
        for alias in statement.names:
            if not _exists(statement.module or "", alias.name):
                yield statement.lineno, f"{statement.module}.{alias.name}"


def _from_imports(text: str) -> list[ast.ImportFrom]:
    found = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and not node.level
        and (node.module or "").partition(".")[0] == "clientgo"
    ]
    return sorted(found, key=lambda node: node.lineno)


def _span(code: bytes, node: ast.stmt) -> tuple[int, int]:
    """The bytes of a statement; columns of ``ast`` are bytes too."""
    starts = [0]
    for line in code.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column


def _new_imports(node: ast.ImportFrom, code: bytes) -> str:
    start, end = _span(code, node)
    old = code[start:end].decode()
    modules: dict[str, list[str]] = {}
    renamed = False
    for alias in node.names:
        module, _, name = new_path(f"{node.module}.{alias.name}").rpartition(".")
        renamed |= name != alias.name
        known = alias.asname or alias.name
        modules.setdefault(module, []).append(name if name == known else f"{name} as {known}")
    if len(modules) == 1 and not renamed:  # its layout and comments stay
        (module,) = modules
        return old.replace(str(node.module), module, 1)
    before = code[code.rfind(b"\n", 0, start) + 1 : start].decode()
    indent = "" if before.strip() else before
    statements = [_statement(module, names, indent) for module, names in modules.items()]
    newline = "\r\n" if b"\r\n" in code else "\n"
    if before.strip():  # it shares its line with another statement
        return "; ".join(statements).replace("\n", newline)
    return f"\n{indent}".join(statements).replace("\n", newline)


def _statement(module: str, names: list[str], indent: str) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(indent + line) <= _LINE:
        return line
    listed = "".join(f"{indent}    {name},\n" for name in names)
    return f"from {module} import (\n{listed}{indent})"


def _with_new_paths(text: str) -> str:
    return _DOTTED.sub(lambda found: new_path(found[0]), text)


def _exists(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name) or name == "*":
            return True
        importlib.import_module(f"{module}.{name}")
    except MissingExtraError:
        return True  # it needs a package that is not installed here
    except ModuleNotFoundError:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite files, or say what would change; return 1 if something is left to do."""
    parser = argparse.ArgumentParser(
        prog="python -m clientgo.tools.rewrite_imports",
        description="Give the imports of a program for clientgo 0.1 their paths of 0.2.",
    )
    parser.add_argument("paths", nargs="+", type=Path, help="files, or directories with *.py")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args(arguments)
    status = 0
    for path in args.paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            status |= _rewrite(file, write=not args.check)
    return status


def _rewrite(file: Path, *, write: bool) -> int:
    try:
        raw = file.read_bytes()
        encoding, _ = tokenize.detect_encoding(BytesIO(raw).readline)
        old = raw.decode(encoding)
        new = rewritten(old)
        lacking = list(missing(new))
        if write and new != old:
            file.write_bytes(new.encode(encoding))
    except SyntaxError as error:
        where = file if error.lineno is None else f"{file}:{error.lineno}"
        print(f"{where}: is no Python: {error.msg}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 1
    if new != old:
        print(f"{'rewrote' if write else 'would rewrite'} {file}")
    for line, path in lacking:
        print(f"{file}:{line}: there is no {path} any more: see the changelog", file=sys.stderr)
    return int(bool(lacking) or (new != old and not write))


if __name__ == "__main__":
    sys.exit(main())
