"""The files of a new project, and of a kind or webhook that is added to one.

Promises: an existing file is changed only with ``force``, with one exception: ``main.py`` gets a
line for each new part, above the comment that marks the place. (`new_versions` has others.)

Source: kubebuilder's ``init``, ``create api`` and ``create webhook``.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from clientgo.operator.errors import ConfigError, OperatorError
from clientgo.tools.scaffold.project import Project

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_VERSION: Final = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_PLURAL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_TAKEN: Final = frozenset(
    {
        *("charts", "cffi", "click", "clientgo", "config", "cryptography", "h11", "httptools"),
        *("iniconfig", "kubernetes", "msgspec", "packaging", "pluggy", "prometheus_client"),
        *("pycparser", "pygments", "pytest", "re2", "sortedcontainers", "tests", "urllib3"),
        *("uvicorn", "websockets", "yaml"),
    }
)
"""What a project imports, or calls its own folders, beside the standard library."""
_USED: Final = frozenset(
    {
        *("AGE", "AdmissionContext", "AdmissionRequest", "Annotated", "Any", "CONTEXT", "Client"),
        *("Conditioned", "ConfigMap", "Context", "CustomResource", "FieldErrors", "InvalidError"),
        *("Iterator", "LABELS", "Meta", "Model", "ObjectMeta", "Observer", "PrinterColumn"),
        *("Resource", "Result"),
    }
)
"""Names beside a kind's own in the files that are made for it."""
_LONGEST: Final = 63
"""Characters of a kind or a plural, as for an API server."""
_IMPORTS: Final = "# imports: clientgo operator adds"
_PARTS: Final = "    # parts: clientgo operator adds"

RECORD: Final = ".scaffold.json"
"""The file with the texts of a project's files as they were written."""
_PROJECT: Final[Mapping[str, str]] = {
    "operator.toml": "operator.toml",
    "pyproject.toml": "pyproject.toml",
    "Makefile": "Makefile",
    "Dockerfile": "Dockerfile",
    "constraints.txt": "constraints.txt",
    ".dockerignore": "dockerignore",
    ".gitignore": "gitignore",
    ".gitattributes": "gitattributes",
    "README.md": "README.md",
    "{package}/__init__.py": "package.py",
    "{package}/__main__.py": "dunder_main.py",
    "{package}/main.py": "main.py",
    "{package}/api/__init__.py": "api.py",
    "{package}/controllers/__init__.py": "controllers.py",
    "tests/conftest.py": "conftest.py",
}
_API: Final[Mapping[str, str]] = {
    "{package}/api/{module}.py": "kind.py",
    "{package}/controllers/{kind}.py": "reconciler.py",
    "tests/test_{kind}.py": "test_kind.py",
}
_WEBHOOK: Final[Mapping[str, str]] = {
    "{package}/webhooks/{kind}.py": "webhook.py",
    "tests/test_{kind}_webhook.py": "test_webhook.py",
}
_WEBHOOKS: Final[Mapping[str, str]] = {"{package}/webhooks/__init__.py": "webhooks.py"}


class FilesExistError(OperatorError):
    """Files that would be written exist with other contents."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"{', '.join(names)}: exists already with other contents; --force overwrites it"
        )
        self.names = names


@dataclass(frozen=True, slots=True, kw_only=True)
class KindNames:
    """The names of a kind. Raises :class:`~clientgo.operator.errors.ConfigError` for bad names.

    ``group`` is a domain; ``plural`` is the English plural of the kind unless given.
    """

    kind: str
    group: str
    version: str = "v1alpha1"
    plural: str = ""

    def __post_init__(self) -> None:
        for what, name, pattern, example in (
            ("kind", self.kind, _KIND, "CronJob"),
            ("group", self.group, _DOMAIN, "batch.example.com"),
            ("version", self.version, _VERSION, "v1alpha1"),
            ("plural", self.plural or plural_of(self.kind), _PLURAL, "cronjobs"),
        ):
            if not pattern.fullmatch(name):
                raise ConfigError(f"{name!r} is not a {what}; write it like {example}")
            if what != "group" and len(name) > _LONGEST:
                raise ConfigError(f"the {what} {name!r} has more than {_LONGEST} characters")
        if keyword.iskeyword(self.kind) or self.kind in _USED:
            why = "Python" if keyword.iskeyword(self.kind) else "the code that is made for a kind"
            raise ConfigError(
                f"a kind cannot have the name {self.kind!r}, which {why} uses; choose another name"
            )

    @property
    def module(self) -> str:
        """The module of the class."""
        return f"{self.kind.lower()}_{self.version}"

    @staticmethod
    def is_version(text: str) -> bool:
        """Return True for the name of a version, such as v1alpha1."""
        return _VERSION.fullmatch(text) is not None

    def of_version(self, version: str) -> KindNames:
        """Return the names of the same kind in another version."""
        return replace(self, version=version)

    @property
    def reconciler_module(self) -> str:
        """The module of the reconciler, and that of the webhooks."""
        name = self.kind.lower()
        return f"{name}_" if keyword.iskeyword(name) else name

    def placeholders(self) -> dict[str, str]:
        return {
            "Kind": self.kind,
            "kind": self.reconciler_module,
            "group": self.group,
            "version": self.version,
            "plural": self.plural or plural_of(self.kind),
            "module": self.module,
        }


def plural_of(kind: str) -> str:
    """Return the English plural of a kind, in lower case."""
    word = kind.lower()
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def init(root: Path, name: str, *, domain: str, force: bool = False) -> list[str]:
    """Begin a project in ``root``; return what was written.

    Raises :class:`FilesExistError`, and ``ConfigError`` for bad names.
    """
    package = package_of(name)
    if not _DOMAIN.fullmatch(domain):
        raise ConfigError(f"{domain!r} is not a domain; write yours, like example.com")
    texts = project_files(name, package, domain)
    return write_files(root, texts | {RECORD: record_of(texts)}, force=force)


def package_of(name: str) -> str:
    """Return the Python package of an operator. Raises ``ConfigError`` for a bad name."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a name for an operator; write it like my-operator")
    package = name.replace("-", "_")
    if package in sys.stdlib_module_names | _TAKEN or keyword.iskeyword(package):
        raise ConfigError(f"a Python package cannot have the name {package!r}; choose another name")
    return package


def project_files(name: str, package: str, domain: str) -> dict[str, str]:
    """Return the texts of a project's files, without those of its kinds."""
    return rendered(_PROJECT, {"name": name, "package": package, "domain": domain})


def record_of(texts: Mapping[str, str]) -> str:
    """Return the text of the file that says what was written, for ``clientgo operator update``."""
    return json.dumps(texts, indent=1) + "\n"


def create_api(project: Project, names: KindNames, *, force: bool = False) -> list[str]:
    """Add a kind with its reconciler.

    Return what was written and, if ``main.py`` was changed too much, what to add there. Raises
    :class:`FilesExistError`.
    """
    values = placeholders(project, names)
    written = write_files(project.root, rendered(_API, values), force=force)
    reconciler = f"{names.kind}Reconciler"
    module = f"{project.package}.controllers.{names.reconciler_module}"
    return written + add_to_main(
        project, f"from {module} import {reconciler}", f"manager.register({reconciler}())"
    )


def create_webhook(project: Project, names: KindNames, *, force: bool = False) -> list[str]:
    """Add webhooks for a kind; return like :func:`create_api`.

    Raises :class:`FilesExistError`, and ``ConfigError`` for an unknown kind.
    """
    values = placeholders(project, names)
    if not (project.root / _path("{package}/api/{module}.py", values)).exists():
        raise ConfigError(
            f"{project.package}/api/{names.module}.py does not exist; begin with "
            f"clientgo operator create-api {names.kind} --version {names.version}"
        )
    shared = {
        name: text
        for name, text in rendered(_WEBHOOKS, values).items()
        if not (project.root / name).exists()
    }
    written = write_files(project.root, shared | rendered(_WEBHOOK, values), force=force)
    kind, package = names.reconciler_module, project.package
    return written + add_to_main(
        project,
        f"from {package}.webhooks import {kind} as {kind}_webhooks",
        f"manager.webhook({kind}_webhooks.complete, {kind}_webhooks.check)",
    )


def placeholders(project: Project, names: KindNames) -> dict[str, str]:
    return {"name": project.name, "package": project.package} | names.placeholders()


def rendered(templates: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    folder = files("clientgo.tools.scaffold") / "templates"
    return {
        _path(target, values): _PLACEHOLDER.sub(
            lambda found: values[found[1]],
            (folder / f"{template}.tmpl").read_text(encoding="utf-8"),
        )
        for target, template in templates.items()
    }


def _path(target: str, values: Mapping[str, str]) -> str:
    return target.format_map(values)


def write_files(root: Path, texts: Mapping[str, str], *, force: bool) -> list[str]:
    """Write all files, or none if one was edited."""
    existing = {
        name: (root / name).read_text(encoding="utf-8") for name in texts if (root / name).exists()
    }
    edited = [name for name, text in existing.items() if text != texts[name]]
    if edited and not force:
        raise FilesExistError(edited)
    written = [name for name, text in texts.items() if existing.get(name) != text]
    for name in written:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(texts[name], encoding="utf-8")
    return [f"wrote {name}" for name in written]


def add_to_main(project: Project, import_line: str, part_line: str) -> list[str]:
    """Add a part to ``main.py``, or return what to add if its comments are gone."""
    name = f"{project.package}/main.py"
    text = (project.root / name).read_text(encoding="utf-8")
    if part_line in text:
        return []
    if _IMPORTS not in text or _PARTS not in text:
        return [f"add to {name}:", f"    {import_line}", f"    {part_line}"]
    if import_line not in text:
        text = text.replace(_IMPORTS, f"{import_line}\n{_IMPORTS}")
    text = text.replace(_PARTS, f"    {part_line}\n{_PARTS}")
    (project.root / name).write_text(text, encoding="utf-8")
    return [f"changed {name}: {part_line}"]
