"""Webhooks of an operator that runs here, registered with an API server on the same machine.

Promises: they are registered while the manager runs, with a certificate that is made for this run.

Does not promise to work with an API server that cannot reach this machine as 127.0.0.1.
"""

from __future__ import annotations

import importlib.util
import socket
import tempfile
import threading
from pathlib import Path
from typing import Final, Self

from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.codegen.manifests import Manifest
from clientgo.operator.errors import ConfigError
from clientgo.operator.manager import Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.tools.scaffold import (
    ClientConfig,
    Project,
    add_conversions,
    by_url,
    webhook_configurations,
)
from clientgo.tools.scaffold.installing import apply, delete, install_definitions
from clientgo.tools.scaffold.project_code import project_kinds
from clientgo.util.certificates import make_throw_away_pair, write_pair
from clientgo.util.clock import REAL_CLOCK

_HOST: Final = "127.0.0.1"


class LocalWebhooks:
    """Registers the webhooks of a project's manager. A context manager, which removes its files.

    Pass :attr:`options` to the manager, and the manager to :meth:`attach` before it starts.
    """

    def __init__(self, project: Project, client: Client) -> None:
        self._project = project
        self._client = client
        self._directory = tempfile.TemporaryDirectory(prefix="clientgo-webhooks-")
        with socket.create_server((_HOST, 0)) as free:
            self._port: int = free.getsockname()[1]
        self.settled = threading.Event()
        """Set when the webhooks are registered, cannot be registered, or there are none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    @property
    def options(self) -> WebhookOptions:
        """Serve on a port that was free, with the certificate of this run."""
        return WebhookOptions(host=_HOST, port=self._port, cert_dir=self._directory.name)

    def attach(self, manager: Manager) -> None:
        """Have ``manager`` register its webhooks when it starts, and unregister them when it stops.

        Converters are registered now: a change of a definition ends the watches of its kinds.
        Raises ``ConfigError`` where the package ``cryptography`` is missing.
        """
        if manager.webhooks.is_empty() or not self.options.is_enabled():
            self.settled.set()
            return
        if importlib.util.find_spec("cryptography") is None:
            raise ConfigError(
                "webhooks need a certificate, and making one the package cryptography: "
                "pip install 'clientgo[operator]', or set ENABLE_WEBHOOKS=false to run without"
            )
        authority, pair = make_throw_away_pair([_HOST], now=REAL_CLOCK.time())
        write_pair(Path(self._directory.name), pair)
        reach = by_url(f"https://{_HOST}:{self._port}", authority)
        converted = [kind.resource.group_resource for kind in manager.webhooks.conversions()]
        if converted:
            definitions = definitions_of(project_kinds(self._project))
            add_conversions(definitions, converted, reach)
            install_definitions(self._client, definitions)

        def register(stop: threading.Event) -> None:
            try:
                for manifest in self._configurations(manager, reach):
                    apply(self._client, manifest)
                paths = [manifest.path for manifest in manager.webhooks.manifests]
                print(f"Webhooks are registered: {', '.join([*paths, *converted])}", flush=True)
                self.settled.set()
                stop.wait()
            finally:
                self.settled.set()
                self._unregister(manager)

        manager.add_runnable(register, needs_leadership=False, name="local-webhooks")

    def _unregister(self, manager: Manager) -> None:
        for manifest in self._configurations(manager, lambda _path: {}):
            delete(self._client, manifest)
        if manager.webhooks.conversions():
            install_definitions(self._client, definitions_of(project_kinds(self._project)))

    def _configurations(self, manager: Manager, reach: ClientConfig) -> list[Manifest]:
        return webhook_configurations(self._project.name, manager.webhooks.manifests, reach)
