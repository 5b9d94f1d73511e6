"""The certificate that a TLS server shows, read from files that change while it serves.

Promises: a handshake that begins after the files were replaced uses the new pair; a pair that
cannot be used (half written, key of another certificate) leaves the old one in place and is
counted. Connections that exist are not disturbed. TLS 1.2 at least; HTTP/2 is not offered.

Does not promise a file system event, which the standard library cannot wait for: the files are
looked at (one ``stat`` each) at every handshake, and read every 10 s, for file systems whose times
cannot be relied on and so that an expired file is noticed without traffic.

Upstream: controller-runtime ``pkg/certwatcher``.
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.certificates.key_pair import KeyPair
from clientgo.operator.certificates.metric_names import CERTIFICATE_READ_ERRORS, CERTIFICATE_READS
from clientgo.operator.errors import ConfigError

_log = logging.getLogger("clientgo.operator.certificates")

REREAD_PERIOD: Final = 10.0
"""Seconds; what upstream reads them again after."""

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
"""The names of a Secret of type ``kubernetes.io/tls``, mounted."""


class CertificateError(ConfigError):
    """A certificate, its key or the authorities of clients cannot be used."""


@dataclass(frozen=True, slots=True)
class CertificateStatistics:
    """How often the files were read, how often in vain, and whether there is a certificate."""

    reads: int
    errors: int
    is_loaded: bool


class ServingCertificate:
    """The pair ``tls.crt`` and ``tls.key`` in ``directory``. Thread-safe.

    With ``client_authorities``, a PEM file, callers must show a certificate of one of these.
    """

    def __init__(
        self,
        directory: Path,
        *,
        client_authorities: Path | None = None,
        metrics: MetricsProvider = NO_METRICS,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._certificate = directory / CERTIFICATE_FILE
        self._key = directory / KEY_FILE
        self._client_authorities = client_authorities
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._content: tuple[bytes, ...] = ()
        self._seen: tuple[tuple[int, ...], ...] = ()
        self._reads = self._errors = 0
        self._reads_metric = metrics.counter(CERTIFICATE_READS)
        self._errors_metric = metrics.counter(CERTIFICATE_READ_ERRORS)

    def load(self) -> None:
        """Read the files. Raises :class:`CertificateError` that names what is wrong with them."""
        with self._lock:
            self._read_locked()

    def context(self) -> ssl.SSLContext:
        """What the next handshake uses; looks first whether the files have changed.

        Raises :class:`CertificateError` as long as there has never been a usable pair.
        """
        with self._lock:
            if self._signature() != self._seen:
                self._reread_locked()
            if self._context is None:
                raise CertificateError(f"there is no certificate in {self._certificate.parent} yet")
            return self._context

    def install(self, pair: KeyPair) -> None:
        """Write a pair into the files and use it from now on.

        Raises ``OSError`` where they cannot be written, :class:`CertificateError` for a bad pair.
        """
        with self._lock:
            if (pair.certificate, pair.private_key) == self._content[:2]:
                return
            write_pair(self._certificate.parent, pair)
            self._read_locked()

    def run(self, stop: threading.Event) -> None:
        """Read the files again every 10 s until ``stop`` is set."""
        while not self._clock.sleep(REREAD_PERIOD, stop):
            with self._lock:
                self._reread_locked()

    def statistics(self) -> CertificateStatistics:
        """What has happened so far."""
        with self._lock:
            return CertificateStatistics(self._reads, self._errors, self._context is not None)

    def _reread_locked(self) -> None:
        try:
            self._read_locked()
        except CertificateError as error:
            kept = "the old one stays in use" if self._context else "TLS calls fail until then"
            _log.error("%s; %s", error, kept)

    def _read_locked(self) -> None:
        self._reads += 1
        self._reads_metric.inc()
        # Taken first: files that change while they are read are read again.
        self._seen = self._signature()
        try:
            content = self._read_files()
            if content == self._content:
                return
            self._context = self._make_context()
        except (OSError, ValueError) as error:
            self._errors += 1
            self._errors_metric.inc()
            raise CertificateError(
                f"the certificate {self._certificate} with the key {self._key.name} "
                f"cannot be used: {error}; check the mounted Secret or cert_dir"
            ) from error
        self._content = content
        _log.info("Serving with the certificate %s as of now", self._certificate)

    def _read_files(self) -> tuple[bytes, ...]:
        return tuple(path.read_bytes() for path in self._files())

    def _make_context(self) -> ssl.SSLContext:
        # A new one each time: in an existing one a pair that does not match replaces half of it.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._certificate, self._key)
        if self._client_authorities is not None:
            context.load_verify_locations(self._client_authorities)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _files(self) -> list[Path]:
        files = [self._certificate, self._key]
        return files if self._client_authorities is None else [*files, self._client_authorities]

    def _signature(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(_signature_of, self._files()))


def _signature_of(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def write_pair(directory: Path, pair: KeyPair) -> None:
    """Write ``tls.crt`` and ``tls.key``, which only their owner can read. Raises ``OSError``."""
    directory.mkdir(parents=True, exist_ok=True)
    _write_private(directory / KEY_FILE, pair.private_key)
    _write_private(directory / CERTIFICATE_FILE, pair.certificate)


def _write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step by one that only its owner can read."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    new.replace(path)
