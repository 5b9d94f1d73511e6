"""The certificate of a TLS server, read from files that may change while it serves.

Promises: a handshake that begins after the files were replaced uses the new pair; a pair that
cannot be used is counted, and the old one stays in use. TLS 1.2 at least, no HTTP/2.

Differs from controller-runtime's ``pkg/certwatcher``: instead of file events, each handshake checks
the files with one ``stat`` each; they are read again every 10 s, for file systems with wrong times.
"""

from __future__ import annotations

import logging
import os
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict, Unpack

from clientgo.observe.metrics import NO_METRICS, Metric, MetricsProvider
from clientgo.util.certificates import CERTIFICATE_FILE, KEY_FILE, KeyPair, trust, write_private
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError, uncopyable

_log = logging.getLogger("clientgo.observe.serving")

CERTIFICATE_READS: Final = Metric(
    "certwatcher_read_certificate_total", "Times that certificates were read"
)
CERTIFICATE_READ_ERRORS: Final = Metric(
    "certwatcher_read_certificate_errors_total", "Times that certificates could not be used"
)

REREAD_PERIOD: Final = 10.0
"""Seconds, as upstream."""


class CertificateError(CopyableError, ValueError):
    """A certificate, its key or the authorities of clients cannot be used."""


class _Options(TypedDict, total=False):
    client_authorities: Path | None
    metrics: MetricsProvider
    clock: Clock


@dataclass(frozen=True, slots=True)
class CertificateStatistics:
    """How often the files were read, how often that failed, and whether a pair is in use."""

    reads: int
    errors: int
    is_loaded: bool


@uncopyable("it has threads; make one in each process")
class ServingCertificate:
    """A certificate with its chain, and its private key, as PEM files. Thread-safe.

    ``authority`` is a PEM file for clients to trust, None if they trust the certificate anyway.
    With ``client_authorities``, a PEM file, clients must show a certificate of one of these.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        authority: Path | None = None,
        *,
        client_authorities: Path | None = None,
        metrics: MetricsProvider = NO_METRICS,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.certificate = certificate
        self.key = key
        self.authority = authority
        self._client_authorities = client_authorities
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._content: tuple[bytes, ...] = ()
        self._seen: tuple[tuple[int, ...], ...] = ()
        self._reads = self._errors = 0
        self._reads_metric = metrics.counter(CERTIFICATE_READS)
        self._errors_metric = metrics.counter(CERTIFICATE_READ_ERRORS)

    @classmethod
    def in_directory(cls, directory: Path, **options: Unpack[_Options]) -> ServingCertificate:
        """Return the pair ``tls.crt`` and ``tls.key`` of a mounted Secret."""
        return cls(directory / CERTIFICATE_FILE, directory / KEY_FILE, **options)

    def load(self) -> None:
        """Read the files. Raises :class:`CertificateError` with what is wrong with them."""
        with self._lock:
            self._read_locked()

    def context(self) -> ssl.SSLContext:
        """Return the settings of the next handshake, of new files if they have changed.

        Raises :class:`CertificateError` until there is a usable pair.
        """
        with self._lock:
            if self._signature() != self._seen:
                self._reread_locked()
            if self._context is None:
                raise CertificateError(f"there is no certificate in {self.certificate.parent} yet")
            return self._context

    def install(self, pair: KeyPair) -> None:
        """Write a pair into the files and use it.

        Raises ``OSError`` if they cannot be written, :class:`CertificateError` for a bad pair.
        """
        with self._lock:
            if (pair.certificate, pair.private_key) == self._content[:2]:
                return
            write_private(self.key, pair.private_key)
            write_private(self.certificate, pair.certificate)
            self._read_locked()

    def run(self, stop: threading.Event) -> None:
        """Read the files again every 10 s until ``stop`` is set."""
        while not self._clock.sleep(REREAD_PERIOD, stop):
            with self._lock:
                self._reread_locked()

    def statistics(self) -> CertificateStatistics:
        """Return what has happened so far."""
        with self._lock:
            return CertificateStatistics(self._reads, self._errors, self._context is not None)

    def _reread_locked(self) -> None:
        try:
            self._read_locked()
        except CertificateError as error:
            kept = "the old one stays in use" if self._context else "TLS handshakes fail"
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
                f"can't use the certificate {self.certificate} with the key {self.key}: {error}; "
                "check these files (a Secret that is mounted there?)"
            ) from error
        self._content = content
        _log.info("using the certificate %s", self.certificate)

    def _read_files(self) -> tuple[bytes, ...]:
        return tuple(path.read_bytes() for path in self._files())

    def _make_context(self) -> ssl.SSLContext:
        # Always a new context: in an existing one, a pair that does not match replaces half of it.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        if self._client_authorities is not None:
            trust(context, self._client_authorities.read_text(encoding="latin-1"))
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _files(self) -> list[Path]:
        files = [self.certificate, self.key]
        return files if self._client_authorities is None else [*files, self._client_authorities]

    def _signature(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(_signature_of, self._files()))


def _signature_of(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
