"""``operator.toml``: what the command line has to know of a project.

Promises: an unknown setting is an error that names it; reading imports nothing of the project.

Source: kubebuilder's ``PROJECT`` file.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from clientgo.meta.decoding import convert
from clientgo.operator.errors import ConfigError

FILE: Final = "operator.toml"


class Deploy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the operator runs in a cluster.

    ``certificates`` says who makes those of its webhooks: the operator itself, or cert-manager. An
    empty request or limit is none: a CPU limit lets a leader renew its lease late.
    ``network_policy`` closes the ports of its pods, except those for health and webhooks.
    """

    image: str = ""
    replicas: int = 2
    cpu_request: str = "10m"
    cpu_limit: str = ""
    memory_request: str = "128Mi"
    memory_limit: str = "256Mi"
    monitoring: bool = False
    network_policy: bool = True
    certificates: Literal["self", "cert-manager"] = "self"


class Project(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A project.

    ``manager`` is the function that makes its manager, such as ``demo.main:new_manager``; ``api``
    is the module or package of its kinds.
    """

    name: str
    package: str
    manager: str
    api: str
    domain: str
    namespace: str = ""
    deploy: Deploy = Deploy()
    root: Path = Path()

    @property
    def config(self) -> Path:
        """The directory of the manifests."""
        return self.root / "config"

    @property
    def image(self) -> str:
        return self.deploy.image or f"{self.name}:latest"


def read_project(root: Path, **deploy: Any) -> Project:
    """Read the project in a directory; ``deploy`` replaces settings that are not None.

    Raises ``ConfigError``.
    """
    file = root / FILE
    try:
        project = convert(tomllib.loads(file.read_text(encoding="utf-8")), Project)
    except FileNotFoundError as error:
        raise ConfigError(
            f"there is no {FILE} in {root}; go to the project's directory, or begin one with "
            "clientgo operator init NAME"
        ) from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{file}: {error}") from error
    changes = {name: value for name, value in deploy.items() if value is not None}
    return msgspec.structs.replace(
        project,
        root=root,
        namespace=project.namespace or f"{project.name}-system",
        deploy=msgspec.structs.replace(project.deploy, **changes),
    )
