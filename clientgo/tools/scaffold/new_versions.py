"""Another version of a kind, and the converters between its versions.

Promises: the new version begins with the fields of the stored one, so nothing is lost before its
author changes it. The stored version is the hub: each other version has a converter, with a test of
round trips. Beside new files, these lines of existing ones are changed: what says which version is
stored, and the imports of the reconciler, the webhooks and their tests, which use the hub.

Source: kubebuilder's ``create api`` and ``create webhook --conversion``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from clientgo.operator.errors import ConfigError
from clientgo.tools.scaffold.new_files import (
    KindNames,
    add_to_main,
    placeholders,
    rendered,
    write_files,
)
from clientgo.tools.scaffold.project import Project

_STORAGE: Final = re.compile(r"\bstorage\s*=\s*(True|False)\b")
_CONVERTERS: Final[Mapping[str, str]] = {"{package}/conversion/__init__.py": "conversions.py"}
_CONVERTER: Final[Mapping[str, str]] = {
    "{package}/conversion/{module}.py": "converter.py",
    "tests/test_{module}_conversion.py": "test_converter.py",
}
_USERS: Final = (
    "{package}/controllers/{kind}.py",
    "{package}/webhooks/{kind}.py",
    "tests/test_{kind}.py",
    "tests/test_{kind}_webhook.py",
)
"""The files of a kind that use the version that is stored."""


def versions_of(project: Project, kind: str) -> list[str]:
    """Return the versions of a kind that a project has, by the names of their modules."""
    folder, prefix = project.root / project.package / "api", f"{kind.lower()}_"
    found = (file.stem.removeprefix(prefix) for file in sorted(folder.glob(f"{prefix}v*.py")))
    return [version for version in found if KindNames.is_version(version)]


def stored_version(project: Project, kind: str) -> str:
    """Return the version that is stored, empty if there is none; the only one needs not say so.

    Raises ``ConfigError`` if several versions do not say which it is.
    """
    versions = versions_of(project, kind)
    folder = project.root / project.package / "api"
    texts = {
        version: (folder / f"{kind.lower()}_{version}.py").read_text(encoding="utf-8")
        for version in versions
    }
    stored = [version for version in versions if _STORAGE.findall(texts[version]) == ["True"]]
    if len(versions) < 2:
        return "".join(versions)
    if len(stored) != 1:
        raise ConfigError(
            f"{len(stored)} of the versions {', '.join(versions)} of {kind} say that they are "
            "stored; write @CustomResource(storage=True) above one of them"
        )
    return stored[0]


def create_version(
    project: Project, names: KindNames, *, stored: str, force: bool = False
) -> list[str]:
    """Add the version of ``names`` to a kind, with converters; return what was done.

    ``stored`` is the version that is stored from now on, one of the others or the new one. Raises
    ``ConfigError`` and :class:`~clientgo.tools.scaffold.new_files.FilesExistError`.
    """
    existing = versions_of(project, names.kind)
    if stored not in (*existing, names.version):
        raise ConfigError(
            f"{names.kind} has no version {stored!r} that could be stored; it has "
            f"{', '.join(dict.fromkeys((*existing, names.version)))}"
        )
    before = stored_version(project, names.kind)
    texts = {
        version: _text(project, names.of_version(version))
        for version in (before, stored)
        if version in existing
    }
    if names.version not in existing:
        texts[names.version] = _copied(project, names, before)
    texts = {
        version: _storing(text, names.of_version(version), stores=version == stored)
        for version, text in texts.items()
    }
    done = []
    for version, text in texts.items():
        done += _rewritten(project, names.of_version(version), text, is_stored=version == stored)
    if stored != before:
        done += _let_users_import(project, names, before, stored)
    return done + create_converters(project, names, force=force)


def _copied(project: Project, names: KindNames, version: str) -> str:
    """Return the module of a version as that of another."""
    text = _text(project, names.of_version(version))
    pattern = rf"(\bversion\s*=\s*)([\"']){version}\2"
    copied, count = re.subn(pattern, rf'\g<1>"{names.version}"', text)
    if count != 1:
        raise ConfigError(
            f"{names.of_version(version).module}.py declares its version {count} times, and the "
            f'new version is a copy of it; write version="{version}" once, in @resource(...)'
        )
    return copied


def create_converters(project: Project, names: KindNames, *, force: bool = False) -> list[str]:
    """Write the converters of a kind that are missing; return what was done.

    Raises like :func:`create_version`.
    """
    versions = versions_of(project, names.kind)
    if len(versions) < 2:
        raise ConfigError(
            f"{names.kind} has {len(versions)} versions in {project.package}/api, and conversion "
            f"needs two; add one with clientgo operator create-api {names.kind} --version v1"
        )
    hub = stored_version(project, names.kind)
    done: list[str] = []
    for version in versions:
        if version != hub:
            done += _create_converter(project, names.of_version(version), hub, force=force)
    needless = f"{project.package}/conversion/{names.of_version(hub).module}.py"
    if (project.root / needless).exists():
        done.append(
            f"remove {needless}, its test, and its lines in {project.package}/main.py: "
            f"{hub} is stored, and the others are converted to it"
        )
    return done


def _create_converter(project: Project, spoke: KindNames, hub: str, *, force: bool) -> list[str]:
    module = f"{project.package}.conversion.{spoke.module}"
    converter = f"{spoke.kind}{spoke.version.capitalize()}Converter"
    values = placeholders(project, spoke) | {
        "hub": spoke.of_version(hub).module,
        "hub_version": hub,
        "Converter": converter,
    }
    file = project.root / f"{module.replace('.', '/')}.py"
    texts = rendered(_CONVERTER, values)
    if file.exists() and not force:
        texts = _of_another_hub(project, spoke, values, texts)
    shared = rendered(_CONVERTERS, values)
    texts |= {name: text for name, text in shared.items() if not (project.root / name).exists()}
    done = write_files(project.root, texts, force=force or file.exists())
    main = (project.root / project.package / "main.py").read_text(encoding="utf-8")
    if f"{converter}(" not in main:
        done += add_to_main(
            project, f"from {module} import {converter}", f"manager.webhook({converter}())"
        )
    return done + _hub_to_change(project, file, values)


def _of_another_hub(
    project: Project, spoke: KindNames, values: Mapping[str, str], texts: Mapping[str, str]
) -> dict[str, str]:
    """Return those of the texts whose files are as they were written for another hub."""
    unedited = {
        text
        for version in versions_of(project, spoke.kind)
        if version != values["hub_version"]
        for text in rendered(
            _CONVERTER,
            {**values, "hub": spoke.of_version(version).module, "hub_version": version},
        ).values()
    }
    files = {name: project.root / name for name in texts}
    return {
        name: texts[name]
        for name, file in files.items()
        if file.exists() and file.read_text(encoding="utf-8") in unedited
    }


def _hub_to_change(project: Project, file: Path, values: Mapping[str, str]) -> list[str]:
    """Return what to change in a converter that was written for another hub, usually nothing."""
    if f"hub={values['hub']}." in file.read_text(encoding="utf-8"):
        return []
    name = file.relative_to(project.root)
    return [
        f"change {name}: {values['hub_version']} is stored now, so convert to "
        f"{values['hub']}.{values['Kind']}"
    ]


def _rewritten(project: Project, names: KindNames, text: str, *, is_stored: bool) -> list[str]:
    """Write the module of a version if it differs; return what was done."""
    file = _module(project, names)
    name = file.relative_to(project.root)
    if not file.exists():
        return write_files(project.root, {str(name): text}, force=False)
    if text == file.read_text(encoding="utf-8"):
        return []
    file.write_text(text, encoding="utf-8")
    return [f"changed {name}: it is {'' if is_stored else 'not '}stored"]


def _let_users_import(project: Project, names: KindNames, before: str, stored: str) -> list[str]:
    """Let what used the version that was stored use the one that is; return what was done."""
    done = []
    values = placeholders(project, names)
    old, new = (
        f"from {project.package}.api.{names.of_version(version).module} import "
        for version in (before, stored)
    )
    for name in (user.format_map(values) for user in _USERS):
        file = project.root / name
        if file.exists() and old in (text := file.read_text(encoding="utf-8")):
            file.write_text(text.replace(old, new), encoding="utf-8")
            done.append(f"changed {name}: it uses {stored}")
    return done


def _storing(text: str, names: KindNames, *, stores: bool) -> str:
    """Return a module of a kind that says whether its version is stored."""
    if _STORAGE.search(text):
        return _STORAGE.sub(f"storage={stores}", text, count=1)
    if "@CustomResource(" in text:
        return text.replace("@CustomResource(", f"@CustomResource(storage={stores}, ", 1)
    raise ConfigError(
        f"{names.module}.py has no @CustomResource(...), which says whether the version is stored; "
        "write @CustomResource(storage=True) above @resource(...)"
    )


def _text(project: Project, names: KindNames) -> str:
    return _module(project, names).read_text(encoding="utf-8")


def _module(project: Project, names: KindNames) -> Path:
    return project.root / project.package / "api" / f"{names.module}.py"
