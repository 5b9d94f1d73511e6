"""Where and how webhooks are served."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from clientgo.operator.errors import ConfigError

CertificateSource = Literal["dir", "self", "cert-manager"]
"""Files that somebody puts there, certificates of our own making, or those of cert-manager."""

_SWITCH: Final = "ENABLE_WEBHOOKS"
_OFF: Final = -1


class WebhookOptions(msgspec.Struct, kw_only=True, frozen=True):
    """The settings of a webhook server; raises ``ConfigError`` for those that cannot be.

    ``port`` 0 takes a free one, -1 serves nothing. ``host`` empty is every address of the machine.
    ``cert_dir`` is where ``tls.crt`` and ``tls.key`` are read from; ``client_ca`` a PEM file in it
    (or with a path of its own) with the authorities of the certificates that callers must show.
    """

    port: int = 9443
    host: str = ""
    cert_dir: str | None = None
    client_ca: str | None = None
    certs: CertificateSource = "dir"
    enabled: bool = True

    def __post_init__(self) -> None:
        if not _OFF <= self.port <= 65535:
            raise ConfigError(f"webhook port {self.port}: write 0 to 65535, or -1 for none")
        if self.certs not in ("dir", "self", "cert-manager"):
            raise ConfigError(f"webhook certs {self.certs!r}: write dir, self or cert-manager")

    def is_enabled(self, environment: Mapping[str, str] = os.environ) -> bool:
        """Whether to serve at all; ``ENABLE_WEBHOOKS=false`` in the environment says no."""
        switched_off = environment.get(_SWITCH, "").strip().lower() in ("false", "0", "no", "off")
        return self.enabled and self.port != _OFF and not switched_off

    @property
    def directory(self) -> Path:
        """Where the certificates are; by default where kubebuilder's projects mount them."""
        if self.cert_dir is not None:
            return Path(self.cert_dir)
        return Path(tempfile.gettempdir()) / "k8s-webhook-server" / "serving-certs"

    @property
    def client_authorities(self) -> Path | None:
        """The file of ``client_ca``."""
        return self.directory / self.client_ca if self.client_ca else None

    @property
    def local_names(self) -> tuple[str, ...]:
        """The names by which this machine calls a server that runs outside of a cluster."""
        known = ("localhost", "127.0.0.1", "::1")
        return known if self.host in ("", "0.0.0.0", "::", *known) else (self.host,)
