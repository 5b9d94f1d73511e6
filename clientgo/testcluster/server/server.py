"""The embedded API server: the Kubernetes API over HTTP, in this process.

Promises: between ``start`` and ``stop`` a thread serves the API of a cluster. Start-up takes a
fraction of a second; an idle server uses no CPU. The methods may be called from any thread; they
block until they are done.

Does not promise a cluster: no pods are scheduled or run.

All state is used on the server's event loop only. A write is one synchronous step there (validate,
take a version, store, wake the watchers), so there are no locks and no lost events.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from clientgo.observe.serving import ServingCertificate
from clientgo.testcluster.server.application import Application
from clientgo.testcluster.server.auth.access import Access, AuthorizationMode
from clientgo.testcluster.server.auth.authentication.shared_token import (
    SharedToken,
    check_exposure,
    keep_token,
)
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.auth.users import User
from clientgo.testcluster.server.certificates import ClientAuthority, keep_self_signed
from clientgo.testcluster.server.cluster import Cluster
from clientgo.testcluster.server.faults.control import FaultControl
from clientgo.testcluster.server.faults.declarations import (
    CloseWatches,
    ExpireHistory,
    Fault,
    RestartServer,
    RotateToken,
)
from clientgo.testcluster.server.faults.injection import FaultInjector
from clientgo.testcluster.server.faults.matching import RequestObserver
from clientgo.testcluster.server.http.browser_check import BrowserCheck
from clientgo.testcluster.server.http.server import HttpServer
from clientgo.testcluster.server.kubeconfig import make_kubeconfig, write_kubeconfig
from clientgo.testcluster.server.objects.state import NEWEST, OLDEST
from clientgo.testcluster.server.pod_providers import PodProviders
from clientgo.testcluster.server.storage.data_directory import (
    DataDirectory,
    DataDirectoryError,
    erase_data,
)
from clientgo.testcluster.server.storage.journal import Journal, JournalError
from clientgo.testcluster.server.storage.sqlite_journal import SqliteJournal
from clientgo.testcluster.server.temporary_directory import TemporaryDirectory
from clientgo.util.certificates import KeyPair, SigningKey
from clientgo.util.copies import uncopyable
from clientgo.util.process import ForkAwareContext, SupervisedThread

T = TypeVar("T")

LOG = logging.getLogger("clientgo.testcluster.server")

KUBERNETES_VERSIONS = tuple(f"1.{minor}" for minor in range(OLDEST, NEWEST + 1))
"""The versions that a server can be; the first is the default."""

_SIGNING_KEY = "service-account.key"

_CALL_TIMEOUT = 10.0
"""Seconds that a method waits for the event loop."""

_THIS_MACHINE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""The address of a server that listens on every address, for clients on this machine."""


@uncopyable("it has threads; make one in each process")
class EmbeddedAPIServer(PodProviders, ForkAwareContext):
    """A Kubernetes API server in this process.

    >>> with EmbeddedAPIServer() as server:
    ...     print(server.url, server.kubeconfig)  # doctest: +SKIP

    ``port`` 0 chooses a free port, which is kept across restarts. Objects and history are kept
    after ``stop``; ``restart`` can remove them. With ``fault_control``, clients can inject faults
    over HTTP.

    With a ``data_dir`` everything is kept in a file there, which one server at a time uses, from
    ``start`` to ``stop``. It has every acknowledged write, even if the process is killed.

    With a ``token``, clients that do not show it get a 401; with a ``certificate``, the server uses
    TLS. ``secure`` creates the missing ones and keeps them with the data. A ``host`` that other
    machines can reach needs both.

    Web pages can't use the server, except those of ``allow_origins`` (``http://localhost:3000``).
    ``allow_hosts`` are further names of this machine by which clients reach it.

    With ``authorization="RBAC"``, roles and bindings decide what a client may do, and the server is
    secure. The kubeconfig is that of an administrator; ``kubeconfig_of`` makes one for another
    user. ``users`` are further users by their token; then the administrator has one too.

    With ``service_accounts``, each namespace has the account ``default`` and the ConfigMap
    ``kube-root-ca.crt``, kube-system has ``extension-apiserver-authentication``, and pods run as
    accounts that exist, as on a cluster with controllers.

    With ``kubernetes_version="1.37"``, answers to deletions have a resource version.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        fault_control: bool = False,
        token: str | None = None,
        certificate: ServingCertificate | None = None,
        secure: bool = False,
        data_dir: Path | str | None = None,
        allow_hosts: Collection[str] = (),
        allow_origins: Collection[str] = (),
        authorization: str = AuthorizationMode.ALWAYS_ALLOW,
        users: Mapping[str, User] | None = None,
        service_accounts: bool = False,
        kubernetes_version: str = KUBERNETES_VERSIONS[0],
    ) -> None:
        """Check the settings; nothing is served before ``start``.

        Raises:
            ValueError: other machines reach ``host``, and a token or TLS is missing; or the token,
                the certificate, a host or an origin can't be used; or there is no such
                authorization mode, or version.
        """
        if kubernetes_version not in KUBERNETES_VERSIONS:
            known = ", ".join(KUBERNETES_VERSIONS)
            raise ValueError(f"this is no Kubernetes {kubernetes_version}, but one of {known}")
        mode = AuthorizationMode(authorization)
        secure = secure or mode is AuthorizationMode.RBAC
        check_exposure(
            host,
            has_token=secure or token is not None,
            has_certificate=secure or certificate is not None,
        )
        if certificate is not None:
            certificate.load()
        self.host = host
        self.port = port
        self._secure = secure
        self._token = SharedToken(token)
        self._access = Access(mode, self._token, users or {}, self._signing_key)
        self._service_accounts = service_accounts
        self._minor_version = int(kubernetes_version.partition(".")[2])
        self._certificate = certificate
        self._allow_hosts = allow_hosts
        self._browser_check = BrowserCheck(host, allow_hosts, allow_origins)
        self._fault_control = fault_control
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._faults = FaultInjector(self._token)
        self._cluster = self._new_cluster()
        self._application: Application | None = None
        self._life = threading.RLock()
        """Held while the server starts, stops, or restarts."""
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: HttpServer | None = None
        self._ready = threading.Event()
        self._failures: list[BaseException] = []
        self._directory: Path | None = None
        self._has_lost_changes = False
        self._client_authority: ClientAuthority | None = None

    # -- life cycle

    def start(self) -> Self:
        """Begin to serve; return when connections are accepted.

        Raises:
            RuntimeError: the server runs already.
            OSError: the port is taken.
            DataDirectoryError: the data directory can't be used.
        """
        with self._life:
            self._start()
        return self

    def _start(self) -> None:
        if self._thread is not None:
            raise RuntimeError(f"the API server runs already, at {self.url}")
        self._cluster = self._kept_cluster()
        self._serve_on_thread()

    def _new_cluster(self, journal: Journal | None = None) -> Cluster:
        cluster = Cluster(
            self._faults.now,
            journal,
            self._access,
            service_accounts=self._service_accounts,
            minor_version=self._minor_version,
        )
        cluster.state.pod_logs = self._pod_logs
        cluster.state.pod_programs = self._pod_programs
        return cluster

    def _kept_cluster(self) -> Cluster:
        """Return the stopped cluster; load it again if it is kept in a directory."""
        if self._data_dir is None:
            return self._cluster
        directory = DataDirectory(self._data_dir)
        try:
            return self._new_cluster(SqliteJournal(directory))
        except BaseException:
            directory.close()
            raise

    def _serve_on_thread(self) -> None:
        try:
            self._prepare()
            listener = self._listen()
        except BaseException:
            self._cluster.state.storage.close()
            raise
        self._ready.clear()
        self._failures.clear()
        self._has_lost_changes = False
        try:
            self._thread = SupervisedThread.started(
                self._run,
                args=(listener,),
                name=f"apiserver-{self.port}",
                then="the API server does not answer any more; start it again",
            )
        except BaseException:
            listener.close()
            self._cluster.state.storage.close()
            raise
        self._ready.wait()
        if self._failures:
            self._thread.join()
            self._thread = None
            raise RuntimeError("the API server could not start") from self._failures[0]
        write_kubeconfig(self.kubeconfig, self.kubeconfig_data)

    def stop(self) -> None:
        """Stop serving: end watches, close connections. The state is kept for ``start``."""
        with self._life:
            if self._thread is None:
                return
            self._call(self._begin_stop)
            self._thread.join()
            self._thread = None

    @property
    def has_lost_changes(self) -> bool:
        """Return True if the server could not keep its last changes when it stopped."""
        return self._has_lost_changes

    def restart(self, *, keep_objects: bool = True, keep_history: bool = True) -> None:
        """Stop and start on the same port.

        Without ``keep_history`` watches can't resume: a client that returns with an old resource
        version gets a 410. Without ``keep_objects`` a new cluster begins.
        """
        with self._life:
            self.stop()
            if not keep_objects:
                self._cluster = self._new_cluster()
                if self._data_dir is not None:
                    erase_data(self._data_dir)
            self._cluster = self._kept_cluster()
            if not keep_history:
                self._cluster.state.storage.expire_history()
            self._serve_on_thread()

    def _begin_block(self) -> None:
        self.start()

    def _end_block(self) -> None:
        self.stop()

    # -- addresses

    @property
    def url(self) -> str:
        """Return the base URL for clients on this machine."""
        scheme = "https" if self._secure or self._certificate else "http"
        host = _THIS_MACHINE.get(self.host, self.host)
        return (
            f"{scheme}://[{host}]:{self.port}" if ":" in host else f"{scheme}://{host}:{self.port}"
        )

    @property
    def kubeconfig(self) -> Path:
        """Return the path of a kubeconfig, which stays valid after restarts.

        Raises:
            RuntimeError: the server was never started.
        """
        if self._directory is None:
            raise RuntimeError("the API server has no kubeconfig yet; start it first")
        return self._directory / "kubeconfig"

    @property
    def kubeconfig_data(self) -> dict[str, Any]:
        """Return the content of the kubeconfig: URL, token, certificate authority."""
        return self._kubeconfig(token=self._token.token)

    def _kubeconfig(
        self, *, token: str | None = None, client: KeyPair | None = None
    ) -> dict[str, Any]:
        trusted = self._certificate.authority if self._certificate else None
        return make_kubeconfig(
            self.url,
            token=token,
            client=client,
            authority=trusted.read_bytes() if trusted else None,
        )

    def kubeconfig_of(self, user: str, groups: Iterable[str] = ()) -> dict[str, Any]:
        """Return the content of a kubeconfig of a user, to be written to a file as JSON.

        It has a client certificate that is valid for a day.

        Raises:
            RuntimeError: the server was never started, or has no RBAC.
        """
        if self._client_authority is None:
            raise RuntimeError(
                "the API server issues no client certificates; start it with authorization='RBAC'"
            )
        pair = self._client_authority.issue(user, groups)
        return self._kubeconfig(client=pair)

    @property
    def client_authority(self) -> KeyPair | None:
        """Return what signs the certificates of clients; None without RBAC."""
        return None if self._client_authority is None else self._client_authority.pair

    def refused(self) -> list[Attributes]:
        """Return what users wanted to do since the start and may not, each once, in order."""
        application = self._application
        return [] if application is None else self._call(lambda: list(application.refused))

    # -- faults

    def expire_history(self) -> None:
        """Clear the history: watches from an earlier version get a 410."""
        self.inject(ExpireHistory())

    def close_watches(self) -> None:
        """End every watch cleanly, as when a watch times out."""
        self.inject(CloseWatches())

    def inject(self, fault: Fault) -> None:
        """Inject a fault; it happens once, or stays active, also after restarts.

        Raises:
            ValueError: no header could carry the token.
        """
        if isinstance(fault, RestartServer):
            self._restart_for(fault)
        else:
            self._call(lambda: self._inject_here(fault))

    def _inject_soon(self, fault: Fault) -> None:
        """Inject a fault from the event loop, which can't wait for its own restart."""
        if isinstance(fault, RestartServer):
            SupervisedThread.started(
                self._restart_for,
                args=(fault,),
                name="apiserver-restart",
                then="the API server was not restarted",
            )
        else:
            self._inject_here(fault)

    def _inject_here(self, fault: Fault) -> None:
        self._faults.inject(fault, self._cluster.state.storage)
        if isinstance(fault, RotateToken) and self._directory is not None:
            write_kubeconfig(self.kubeconfig, self.kubeconfig_data)

    def _restart_for(self, fault: RestartServer) -> None:
        with self._life:
            if self._thread is not None:  # else it was stopped meanwhile
                self.restart(keep_objects=fault.keep_objects, keep_history=fault.keep_history)
                self._faults.count(fault)

    def lift(self, fault: Fault | None = None) -> None:
        """Lift a fault; without an argument every fault."""
        self._call(lambda: self._faults.lift(fault))

    def struck(self, fault: Fault) -> int:
        """Return how often a fault has struck a request, a watch or the server."""
        return self._faults.struck(fault)

    def wait_until_struck(self, fault: Fault, times: int = 1, timeout: float = 10.0) -> bool:
        """Wait, at most ``timeout`` seconds, until a fault has struck ``times`` times."""
        return self._faults.wait_until_struck(fault, times, timeout)

    def observe(self, observer: RequestObserver) -> None:
        """Call ``observer`` for each request for a resource when it is answered.

        It is called on the server's thread, must not block, and stays for the server's life.
        """
        self._call(lambda: self._faults.observe(observer))

    # -- the thread

    def _prepare(self) -> None:
        """Create directory, certificate and token, unless an earlier start has.

        Raises:
            DataDirectoryError: one that an earlier process has made can't be used.
        """
        if self._directory is None:
            temporary = TemporaryDirectory()
            self._directory = temporary.path
            weakref.finalize(self, temporary.remove)
        try:
            self._keep_secrets(self._secrets)
        except (OSError, ValueError) as error:
            raise DataDirectoryError(
                f"a certificate, key or token in {self._secrets} can't be used ({error}); remove "
                "it, and the server makes another"
            ) from error

    def _keep_secrets(self, secrets: Path) -> None:
        if self._secure and self._certificate is None:
            self._certificate = keep_self_signed(secrets, self.host, self._allow_hosts)
            self._certificate.load()
        if (secrets / _SIGNING_KEY).exists():
            self._signing_key()  # fails now rather than at the first token
        if (self._secure or self._access.users) and self._token.token is None:
            self._token.token = keep_token(secrets / "token")
        if self._access.mode is AuthorizationMode.RBAC:
            self._client_authority = ClientAuthority.keep(secrets)

    @property
    def _secrets(self) -> Path:
        """Return the directory of keys and tokens."""
        directory = self._data_dir or self._directory
        if directory is None:
            raise RuntimeError("the API server has no keys yet; start it first")
        return directory

    def _signing_key(self) -> SigningKey:
        return SigningKey.keep(self._secrets / _SIGNING_KEY)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # asyncio sets TCP_NODELAY only if the protocol is named.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
        except OSError:
            listener.close()
            raise
        self.port = listener.getsockname()[1]
        return listener

    def _run(self, listener: socket.socket) -> None:
        try:
            asyncio.run(self._serve(listener))
        except BaseException as error:
            if self._ready.is_set():
                raise
            self._failures.append(error)  # raised by start(), in the caller's thread
        finally:
            self._cluster.state.storage.close()
            self._loop = None
            self._ready.set()

    async def _serve(self, listener: socket.socket) -> None:
        certificate = self._certificate
        control = FaultControl(self._faults, self._inject_soon) if self._fault_control else None
        self._application = Application(self._cluster, self._faults, control, self._browser_check)
        self._http = HttpServer(
            self._application,
            certificate.certificate if certificate else None,
            certificate.key if certificate else None,
            self._client_authority.certificate if self._client_authority else None,
        )
        self._loop = asyncio.get_running_loop()
        bound = listener.getsockname()[0]
        address = _THIS_MACHINE.get(bound, bound)
        trusted = certificate.authority if certificate else None
        authority = trusted.read_text("ascii") if trusted else ""
        await self._cluster.begin(address, self.port, authority)
        await self._http.serve(listener, self._ready.set)
        await self._cluster.settle()
        self._cluster.close()
        try:
            await self._cluster.state.storage.durable()
        except JournalError as error:
            self._has_lost_changes = True
            LOG.error("the API server stops; its last changes are lost: %s", error)

    def _begin_stop(self) -> None:
        self._cluster.state.watches.end_all()
        self._faults.let_go()
        if self._http is not None:
            self._http.stop()

    def _call(self, action: Callable[[], T]) -> T:
        """Run an action on the event loop; in this thread if the server does not run."""
        loop = self._loop
        if loop is None:
            return action()

        async def act() -> T:
            return action()

        return asyncio.run_coroutine_threadsafe(act(), loop).result(_CALL_TIMEOUT)
