"""Runs the test suite of another client, from its source distribution, against our server.

Everything that is fetched and installed is kept in one directory, away from this project's
environment. A run starts a server with TLS, RBAC, service accounts and simulated workloads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from clientgo.api.core_v1 import Container, Pod, PodSpec
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.kubeconfig import write_kubeconfig
from clientgo.testcluster.workloads import simulate

HERE: Final = Path(__file__).parent
TEST_TIMEOUT: Final = 100
"""Seconds that a test of a suite may take."""


@dataclass(frozen=True)
class Suite:
    """Where a suite comes from, how pytest is called, and what is known not to pass."""

    name: str
    package: str
    arguments: Sequence[str]
    needs: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Tests that are not run, with the reason."""
    fails: Mapping[str, str] = field(default_factory=dict)
    """Tests that fail, with the reason."""


@dataclass
class Outcome:
    """What the tests of a suite did, by their id."""

    passed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def load_suites() -> dict[str, Suite]:
    """Return the suites that `suites.yaml` describes."""
    described = yaml.safe_load((HERE / "suites.yaml").read_text(encoding="utf-8"))
    return {name: Suite(name, **described[name]) for name in described}


def fetch(suite: Suite, directory: Path) -> None:
    """Get the suite's source distribution and install what it needs."""
    python = _python(directory)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True)
    _pip(directory, "install", "pytest", "pytest-timeout", suite.package, *suite.needs)
    if not source_of(suite, directory).exists():
        downloads = directory / "downloads" / suite.name
        source_only = ("--no-deps", "--no-binary=:all:")
        _pip(directory, "download", *source_only, "--dest", downloads, suite.package)
        [archive] = downloads.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(downloads, filter="data")
        [unpacked] = (path for path in downloads.iterdir() if path.is_dir())
        source_of(suite, directory).parent.mkdir(parents=True, exist_ok=True)
        unpacked.rename(source_of(suite, directory))


def source_of(suite: Suite, directory: Path) -> Path:
    """Return where the suite's source is unpacked."""
    return directory / "sources" / suite.name


def run(suite: Suite, directory: Path) -> Outcome:
    """Run a suite that was fetched."""
    report = directory / f"{suite.name}.xml"
    report.unlink(missing_ok=True)
    left_out = [f"--deselect={test}" for test in suite.left_out]
    with _server(directory / f"{suite.name}.kubeconfig") as kubeconfig:
        environment = {
            **os.environ,
            "CLIENTGO_SUITE": suite.name,
            "KUBECONFIG": str(kubeconfig),
            "KUBERNETES_CLIENT_TEST_CONFIG": str(kubeconfig),
            "PATH": f"{directory / 'venv/bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(HERE),
        }
        command = [
            _python(directory), "-m", "pytest", "-p", "plugin", "-q", "--tb=short",
            "-o", "addopts=",
            f"--timeout={TEST_TIMEOUT}", f"--junitxml={report}", *left_out, *suite.arguments,
        ]  # fmt: skip
        with (directory / f"{suite.name}.log").open("w") as log:
            subprocess.run(
                command,
                cwd=source_of(suite, directory),
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
    if not report.exists():
        raise RuntimeError(f"the tests did not run; see {log.name}")
    return _outcome(report)


@contextmanager
def _server(kubeconfig: Path) -> Iterator[Path]:
    with (
        EmbeddedAPIServer(authorization="RBAC", service_accounts=True) as server,
        simulate(server),
    ):
        administrator = server.kubeconfig_of("kubernetes-admin", ["system:masters"])
        write_kubeconfig(kubeconfig, administrator)
        with Client(load_config(str(server.kubeconfig))) as client:
            # A cluster's own pods, which suites look for.
            spec = PodSpec(containers=[Container(name="dns", image="dns:1")])
            metadata = ObjectMeta(
                name="dns", namespace="kube-system", labels={"k8s-app": "kube-dns"}
            )
            client.resource(Pod).namespace("kube-system").create(Pod(metadata=metadata, spec=spec))
        yield kubeconfig


def _outcome(report: Path) -> Outcome:
    outcome = Outcome()
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
        bad = next((part for kind in ("failure", "error") for part in case.iter(kind)), None)
        if bad is not None:
            outcome.failed[name] = (bad.get("message") or "").strip().partition("\n")[0]
        elif case.find("skipped") is not None:
            outcome.skipped.append(name)
        elif name not in outcome.failed:
            outcome.passed.append(name)
    return outcome


def unexpected(suite: Suite, outcome: Outcome) -> list[str]:
    """Return a line for each test that fails without a reason, or passes though it has one."""
    lines = [
        f"{name} fails: {message}"
        for name, message in outcome.failed.items()
        if not any(map(name.endswith, suite.fails))
    ]
    lines += [
        f"{known} passes, though suites.yaml says that it fails"
        for known in suite.fails
        if any(name.endswith(known) for name in outcome.passed)
    ]
    return lines


def _python(directory: Path) -> Path:
    return directory / "venv" / "bin" / "python"


def _pip(directory: Path, *arguments: Any) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    subprocess.run(
        [_python(directory), "-m", "pip", arguments[0], *quiet, *arguments[1:]], check=True
    )
