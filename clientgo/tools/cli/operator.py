"""``clientgo operator``: from nothing to an operator in a cluster.

::

    clientgo operator init demo             a project that runs: cd demo && make run ONCE=1
    clientgo operator create-api Backup     another kind, with its reconciler
    clientgo operator create-api Demo --version v1      another version, and its converter
    clientgo operator create-webhook Demo   a defaulter and a validator; --conversion: a converter
    clientgo operator gen all               config/ from the code; also crd, rbac, helm, ...
    clientgo operator verify                fail if config/ differs from the code
    clientgo operator update                merge what init writes today into an older project
    clientgo operator run --embedded        here, on an API server in memory, or on a cluster
    clientgo operator install, deploy       in a cluster; uninstall, undeploy remove it

Promises one line instead of a traceback for errors that a user can correct. Needs no kubectl.

Upstream: ``kubebuilder`` and ``controller-gen``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clientgo.client import NoMatchError
from clientgo.codegen.crd import definitions_of
from clientgo.meta import StatusError
from clientgo.operator.errors import OperatorError
from clientgo.rest import ConfigError, TransportError
from clientgo.tools.cli import operator_cluster, operator_run
from clientgo.tools.scaffold import (
    FOLDERS,
    PARTS,
    DeclaredOperator,
    Generated,
    Project,
    declared_operator,
    definition_files,
    generate,
    generated_differences,
    read_project,
    write_generated,
)
from clientgo.tools.scaffold.interpreter import local_makefile, types_hint
from clientgo.tools.scaffold.manifests.helm_chart import TEMPLATES, chart_folder, helm_chart
from clientgo.tools.scaffold.new_files import (
    KindNames,
    create_api,
    create_webhook,
    init,
    package_of,
)
from clientgo.tools.scaffold.new_versions import (
    create_converters,
    create_version,
    stored_version,
    versions_of,
)
from clientgo.tools.scaffold.project_code import kinds_in_all
from clientgo.tools.scaffold.updating import update_project
from clientgo.util.text.terminal import CommandParser, ExitStatus, complain

_USER_ERRORS = (
    OperatorError,
    ConfigError,
    TransportError,
    StatusError,
    NoMatchError,
    ImportError,
    ValueError,
    OSError,
)


def configure(parser: CommandParser) -> None:
    """Add the subcommands to the parser."""
    parser.show_examples(
        "clientgo operator init demo && cd demo && make run ONCE=1",
        "clientgo operator create-api Backup",
        "clientgo operator gen all",
        "clientgo operator run --embedded",
    )
    parts = parser.add_subparsers(required=True, metavar="PART")
    _add_scaffolding(parts)
    _add_generation(parts)
    operator_cluster.configure(parts, project_part)
    operator_run.configure(parts, project_part)


def project_part(
    parts: Any, name: str, help_text: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """Return the parser of a subcommand for the project in ``--project``."""
    part: argparse.ArgumentParser = parts.add_parser(name, help=help_text, description=help_text)
    part.add_argument(
        "--project", metavar="DIR", type=Path, default=Path(), help="the directory of operator.toml"
    )
    part.set_defaults(run=reporting(run))
    return part


def reporting(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Return an exit code; print one line for errors that a user can correct."""

    def report(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except _USER_ERRORS as error:
            complain("clientgo operator", error)
            return ExitStatus.FAILED

    return report


# init, create-api, create-webhook


def _add_scaffolding(parts: Any) -> None:
    begin = parts.add_parser("init", help="begin a project, with a first kind")
    begin.add_argument("name", help="of the operator and its directory")
    begin.add_argument("--domain", default="example.com", help="your domain")
    begin.add_argument("--kind", help="the first kind (default: the name of the operator)")
    begin.add_argument("--group", help="its group (default: NAME.DOMAIN)")
    begin.add_argument("--version", default="v1alpha1", help="its version (default: v1alpha1)")
    begin.add_argument("--force", action="store_true", help="overwrite existing files")
    begin.set_defaults(run=reporting(_init))

    added = {}
    for name, help_text, run in (
        ("create-api", "add a kind and its reconciler, or another version of one", _create_api),
        ("create-webhook", "add a defaulter and a validator for a kind", _create_webhook),
    ):
        part = added[name] = project_part(parts, name, help_text, run)
        part.add_argument("kind", help="such as Backup")
        part.add_argument("--group", help="(default: NAME.DOMAIN of operator.toml)")
        part.add_argument("--plural", default="", help="(default: the English plural)")
        part.add_argument("--force", action="store_true", help="overwrite existing files")
    added["create-api"].add_argument("--version", default="v1alpha1", help="(default: v1alpha1)")
    added["create-webhook"].add_argument("--version", help="(default: the one that is stored)")
    added["create-api"].add_argument(
        "--stored",
        metavar="VERSION",
        help="the version that is stored, if there are several (default: ask)",
    )
    project_part(
        parts, "update", "merge what init writes today into an older project, with git", _update
    )
    added["create-webhook"].add_argument(
        "--conversion",
        action="store_true",
        help="add instead a converter for each version that is not stored",
    )


def _init(args: argparse.Namespace) -> int:
    root = Path(args.name)
    package_of(args.name)  # before names are made of it
    kind = args.kind or "".join(word.capitalize() for word in args.name.split("-"))
    names = KindNames(
        kind=kind, group=args.group or f"{args.name}.{args.domain}", version=args.version
    )
    written = init(root, args.name, domain=args.domain, force=args.force)
    project = read_project(root)
    written += create_api(project, names, force=args.force)
    (root / "local.mk").write_text(local_makefile(), encoding="utf-8")
    generated = generate(declared_operator(project))
    written += _write(project, generated, PARTS, force=args.force)
    hints = filter(None, [types_hint()])
    _print([*written, *hints, f"now: cd {args.name} && make run ONCE=1"])
    return 0


def _update(args: argparse.Namespace) -> int:
    update = update_project(read_project(args.project))
    _print(update.lines or ["nothing to update"])
    if update.conflicts:
        conflicts = ", ".join(update.conflicts)
        print(f"resolve the conflicts in {conflicts}, then commit", file=sys.stderr)
        return ExitStatus.FAILED
    if update.lines:
        print("review it: git diff; then: clientgo operator gen all")
    return ExitStatus.OK


def _create_api(args: argparse.Namespace) -> int:
    project = read_project(args.project)
    names = _names(project, args)
    existing = versions_of(project, names.kind)
    if not set(existing) - {names.version}:
        lines = create_api(project, names, force=args.force)
    else:
        before = stored_version(project, names.kind)
        stored = args.stored or (
            before if names.version in existing else _ask_for_stored(names, existing, before)
        )
        lines = create_version(project, names, stored=stored, force=args.force)
    another = f"another version: clientgo operator create-api {names.kind} --version v1"
    _print_added(lines, f"{names.kind} {names.version} exists; {another}")
    return 0


def _print_added(lines: Sequence[str], else_line: str) -> None:
    """Print what was done and what comes then, or that there was nothing to do."""
    _print([*lines, "then: clientgo operator gen all"] if lines else [else_line])


def _ask_for_stored(names: KindNames, existing: Sequence[str], before: str) -> str:
    """Return the answer of the user; without one, the version that is stored already."""
    versions = " or ".join((*existing, names.version))
    try:
        answer = input(f"Which version of {names.kind} is stored, {versions}? [{before}] ").strip()
    except (EOFError, OSError):  # there is no terminal
        print(f"\n{before} is stored still; --stored {names.version} stores {names.version}")
        answer = ""
    return answer or before


def _create_webhook(args: argparse.Namespace) -> int:
    project = read_project(args.project)
    args.version = args.version or stored_version(project, args.kind) or "v1alpha1"
    create = create_converters if args.conversion else create_webhook
    lines = create(project, _names(project, args), force=args.force)
    what = "converters" if args.conversion else "webhooks"
    _print_added(lines, f"the {what} of {args.kind} exist")
    return 0


def _names(project: Project, args: argparse.Namespace) -> KindNames:
    group = args.group or f"{project.name}.{project.domain}"
    return KindNames(kind=args.kind, group=group, version=args.version, plural=args.plural)


# gen, verify


def _add_generation(parts: Any) -> None:
    gen = parts.add_parser("gen", help="write manifests from the project's code").add_subparsers(
        required=True, metavar="PART"
    )
    for name, help_text in (
        ("crd", "the definitions of the project's kinds"),
        ("rbac", "what the operator may do, and roles for the users of its kinds"),
        ("webhooks", "which requests the operator is asked about"),
        ("deploy", "Namespace, Deployment and Services"),
        ("sample", "an object of each kind"),
        ("all", "all of these, and a kustomization; the chart too, if there is one"),
        ("helm", "a Helm chart of the same manifests, in charts/NAME"),
    ):
        part = project_part(gen, name, help_text, _gen)
        part.set_defaults(part=name, modules=[], out=None)
        part.add_argument("--force", action="store_true", help="overwrite edited files")
        _add_options(part)
        if name == "crd":
            part.add_argument(
                "-m", dest="modules", metavar="MODULE", action="append", default=[],
                help="declares kinds; for projects without operator.toml, with -o",
            )  # fmt: skip
            part.add_argument("-o", dest="out", metavar="DIR", type=Path)
    verify = project_part(
        parts,
        "verify",
        "show how generated files differ from the code, and fail if they do",
        _verify,
    )
    _add_options(verify)


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "--max-desc-len", metavar="N", type=int, help="cut descriptions in definitions; 0: none"
    )
    part.add_argument("--image", help="of the operator (default: see operator.toml)")
    part.add_argument(
        "--monitoring", action="store_true", default=None, help="add what Prometheus needs"
    )
    part.add_argument(
        "--certs", choices=("self", "cert-manager"), help="who makes the webhooks' certificate"
    )


def _gen(args: argparse.Namespace) -> int:
    if args.modules:
        return _gen_definitions(args)
    project = _project(args)
    operator = declared_operator(project)
    if args.part != "helm":
        parts = PARTS if args.part == "all" else (args.part,)
        generated = _generated(operator, parts, args)
        _print(_write(project, generated, parts, force=args.force))
    folder = chart_folder(project)
    if args.part == "helm" or (args.part == "all" and folder.exists()):
        chart = _chart(operator, args)
        written = write_generated(folder, chart.files, [TEMPLATES], force=args.force)
        _print([f"charts/{project.name}: {line}" for line in written])
    return 0


def _gen_definitions(args: argparse.Namespace) -> int:
    """Write the definitions of any modules to any directory."""
    sys.path.insert(0, str(args.project.resolve()))
    kinds = kinds_in_all(args.modules)
    generated = definition_files(definitions_of(kinds), kinds, args.max_desc_len)
    _warn(generated)
    out = args.out or Path("config/crd")
    _print(write_generated(out, generated.files, (), force=args.force))
    return 0


def _verify(args: argparse.Namespace) -> int:
    project = _project(args)
    operator = declared_operator(project)
    generated = _generated(operator, PARTS, args)
    folders = tuple(FOLDERS.values())
    lines = list(generated_differences(project.config, generated.files, folders))
    if (folder := chart_folder(project)).exists():
        lines += generated_differences(folder, _chart(operator, args).files, [TEMPLATES])
    sys.stdout.writelines(lines)
    if lines:
        print("files differ from the code; run clientgo operator gen all", file=sys.stderr)
    return 1 if lines else 0


def _project(args: argparse.Namespace) -> Project:
    return read_project(
        args.project, image=args.image, monitoring=args.monitoring, certificates=args.certs
    )


def _generated(
    operator: DeclaredOperator, parts: Sequence[str], args: argparse.Namespace
) -> Generated:
    generated = generate(operator, parts, max_description=args.max_desc_len)
    _warn(generated)
    return generated


def _chart(operator: DeclaredOperator, args: argparse.Namespace) -> Generated:
    chart = helm_chart(operator, max_description=args.max_desc_len)
    _warn(chart)
    return chart


def _write(
    project: Project, generated: Generated, parts: Sequence[str], *, force: bool
) -> list[str]:
    folders = [FOLDERS[part] for part in parts]
    written = write_generated(project.config, generated.files, folders, force=force)
    return [f"config: {line}" for line in written]


def _warn(generated: Generated) -> None:
    for warning in generated.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line)
