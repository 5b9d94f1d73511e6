"""A pytest plugin for suites of other projects: the cluster that they test is ours.

The suites ask for a cluster in their own way: by starting kind, or by a module that their package
does not carry. `CLIENTGO_SUITE` names the suite that runs, and `KUBECONFIG` leads to the server.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest


class Cluster:
    """Stands in for the classes that start kind: it is there already."""

    def __init__(self, *_arguments: Any, **_settings: Any) -> None:
        self.kubeconfig_path = Path(os.environ["KUBECONFIG"])
        self.kubectl_path = "kubectl"

    def create(self) -> None:
        """Do nothing: the server runs."""

    delete = create_cluster = remove_cluster = create

    def get_kubeconfig(self) -> str:
        """Return the path of the kubeconfig."""
        return str(self.kubeconfig_path)

    def kubectl(self, *arguments: str, **settings: Any) -> str:
        """Run kubectl; return what it prints."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig_path)}
        return subprocess.check_output(
            [self.kubectl_path, *arguments], env=environment, encoding="utf-8", **settings
        )


def pytest_addoption(parser: Any) -> None:
    if _SUITE == "kr8s":
        parser.addoption("--keep-cluster", action="store_true", default=True)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """End the process without a wait for threads: a test of cloudcoil leaves an endless watch."""
    sys.stdout.flush()
    os._exit(0)


def _kr8s() -> None:
    _module("pytest_kind.cluster", KindCluster=Cluster)


def _cloudcoil() -> None:
    clusters = importlib.import_module("cloudcoil._testing.plugin")
    clusters.KindCluster = clusters.K3DCluster = Cluster


def _kubernetes() -> None:
    def configuration() -> Any:
        read = client.Configuration()
        config.load_kube_config(client_configuration=read)
        return read

    client = importlib.import_module("kubernetes.client")
    config = importlib.import_module("kubernetes.config")
    _module("kubernetes.e2e_test.base", get_e2e_configuration=configuration)


def _asyncio(package: str) -> None:
    def configuration() -> Any:
        read = client.Configuration()
        asyncio.run(config.load_kube_config(client_configuration=read))
        return read

    asyncio = importlib.import_module("asyncio")
    client = importlib.import_module(f"{package}.client")
    config = importlib.import_module(f"{package}.config")
    _module(f"{package}.e2e_test.base", get_e2e_configuration=configuration)


def _module(name: str, **contents: Any) -> None:
    package, _, last = name.rpartition(".")
    for part in (package, name):
        sys.modules.setdefault(part, types.ModuleType(part))
    vars(sys.modules[name]).update(contents)
    setattr(sys.modules[package], last, sys.modules[name])


_SUITE = os.environ["CLIENTGO_SUITE"]
_CLUSTERS = {
    "kr8s": _kr8s,
    "cloudcoil": _cloudcoil,
    "kubernetes": _kubernetes,
    "kubernetes-aio": lambda: _asyncio("kubernetes.aio"),
    "kubernetes-asyncio": lambda: _asyncio("kubernetes_asyncio"),
}
_CLUSTERS.get(_SUITE, lambda: None)()
