"""Streams to a running pod: the methods of a client of pods that open them.

What they return is in :mod:`clientgo.client.streams`, which is imported with the first stream.
Upstream: kubectl ``exec``, ``attach``, ``port-forward``, ``logs`` on client-go's packages.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from clientgo.meta import APIResource
from clientgo.rest import Request, RequestError, RestClient

if TYPE_CHECKING:
    from clientgo.client.streams.channels import ChannelSocket
    from clientgo.client.streams.log_lines import LogLines
    from clientgo.client.streams.port_forward import PortForward, PortStream
    from clientgo.client.streams.remote_command import ExecResult, RemoteCommand, Stdin


class PodStreams:
    """Streams to the pods of a client.

    ``container`` may be left out if the pod has only one. ``stop`` ends a stream whenever it is
    set; times are seconds. All but :meth:`logs` raise
    :class:`~clientgo.util.extras.MissingExtraError` without the extra ``stream``, and need the
    verbs ``get`` and ``create`` of the subresource.
    """

    __slots__ = ()

    resource: APIResource
    _rest: RestClient

    def exec(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: Stdin | None = None,
        stdout: BinaryIO | None = None,
        stderr: BinaryIO | None = None,
        timeout: float | None = None,
        stop: threading.Event | None = None,
    ) -> ExecResult:
        """Run a command in a container and return its output and exit code.

        ``stdin`` is bytes, a text, a file, or an iterable of bytes. Output goes to ``stdout`` and
        ``stderr`` as it comes, or else into the result, up to 64 MiB. A source or writer that
        blocks holds up all of it, in this thread. No shell is started: a pipe needs one, as in
        ``["sh", "-c", "a | b"]``.

        Raises what :class:`~clientgo.client.streams.RemoteCommand` does, and
        :class:`~clientgo.rest.TransportTimeoutError` for a command that has not ended within
        ``timeout``, which it may do later. A command that fails has an exit code, and no error.
        """
        with self.start_exec(
            name, command, container=container, stdin=stdin is not None, stop=stop
        ) as running:
            return running.run(stdin, stdout, stderr, timeout)

    def start_exec(
        self,
        name: str,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
        stop: threading.Event | None = None,
    ) -> RemoteCommand:
        """Start a command in a container, to read its output and write its input step by step.

        With ``tty`` it has a terminal, and all output is ``stdout``. The caller closes it.
        """
        if isinstance(command, str):
            raise RequestError(
                f"a command is a list of its words: pass [{command!r}], or a shell's"
            )
        return self._open_command(name, "exec", container, command, stdin, tty, stop)

    def attach(
        self,
        name: str,
        *,
        container: str = "",
        stdin: bool = False,
        tty: bool = False,
        stop: threading.Event | None = None,
    ) -> RemoteCommand:
        """Attach to the process that a container runs: what it writes from now on.

        ``stdin`` and ``tty`` need a container that has them. The caller closes it.
        """
        return self._open_command(name, "attach", container, (), stdin, tty, stop)

    def open_port(self, name: str, port: int, *, stop: threading.Event | None = None) -> PortStream:
        """Open a connection to a port of a pod. The caller closes it."""
        from clientgo.client.streams.port_forward import PROTOCOL, PortStream

        request = self._of_pod(name, "portforward").query("ports", str(port))
        return PortStream(self._open_channels(request, [PROTOCOL], stop))

    def port_forward(
        self,
        name: str,
        port: int,
        *,
        local_port: int = 0,
        host: str = "127.0.0.1",
        stop: threading.Event | None = None,
    ) -> PortForward:
        """Forward connections to a port of this machine to a pod, in threads, until it is closed.

        ``local_port`` 0 chooses a free port. Raises ``OSError`` if the port is taken; what is wrong
        with the pod is logged when a connection comes.
        """
        from clientgo.client.streams.port_forward import PortForward

        def connect(closing: threading.Event) -> PortStream:
            return self.open_port(name, port, stop=closing)

        return PortForward(connect, host, local_port, stop)

    def logs(
        self,
        name: str,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        timestamps: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        since_time: str = "",
        limit_bytes: int | None = None,
        timeout: float | None = None,
        stop: threading.Event | None = None,
    ) -> LogLines:
        """Read what a container has written, line by line; with ``follow`` also what it will write.

        ``previous`` means the container before its last restart, ``since_time`` is RFC 3339,
        ``timeout`` how long nothing may come: the configuration's, or without end with ``follow``.
        The caller closes it, or reads to the end.
        """
        from clientgo.client.streams.log_lines import LogLines

        request = self._of_pod(name, "log").timeout(0).header("Accept", "text/plain, */*")
        if follow:  # a server that compresses collects lines first
            request.header("Accept-Encoding", "identity")
        values = {
            "container": container,
            "follow": "true" if follow else "",
            "previous": "true" if previous else "",
            "timestamps": "true" if timestamps else "",
            "tailLines": tail_lines,
            "sinceSeconds": since_seconds,
            "sinceTime": since_time,
            "limitBytes": limit_bytes,
        }
        request.queries(
            [(key, str(value)) for key, value in values.items() if value not in ("", None)]
        )
        if timeout is None and not follow:
            timeout = self._rest.config.read_timeout
        return LogLines(request.stream(stop), timeout)

    def _open_command(
        self,
        name: str,
        subresource: str,
        container: str,
        command: Sequence[str],
        stdin: bool,
        tty: bool,
        stop: threading.Event | None,
    ) -> RemoteCommand:
        from clientgo.client.streams.remote_command import V4, V5, RemoteCommand

        request = self._of_pod(name, subresource)
        request.queries([("command", word) for word in command])
        if container:
            request.query("container", container)
        for stream, wanted in (
            ("stdin", stdin),
            ("stdout", True),
            ("stderr", not tty),
            ("tty", tty),
        ):
            request.query(stream, "true" if wanted else "false")
        channels = self._open_channels(request, [V5, V4], stop)
        return RemoteCommand(channels, has_exit_code=subresource == "exec")

    def _open_channels(
        self, request: Request, protocols: Sequence[str], stop: threading.Event | None
    ) -> ChannelSocket:
        from clientgo.client.streams.channels import open_channels

        return open_channels(request, protocols, self._rest.config.clock, stop)

    def _of_pod(self, name: str, subresource: str) -> Request:
        if (self.resource.group, self.resource.plural) != ("", "pods"):
            raise RequestError(
                f"{self.resource.plural} have no {subresource}; use a client of pods"
            )
        return self._for_object("GET", name, subresource)

    @abstractmethod
    def _for_object(self, method: str, name: str, subresource: str) -> Request: ...
