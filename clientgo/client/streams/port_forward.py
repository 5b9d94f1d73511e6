"""Connections to a port of a pod: as streams, or through a port of this machine.

Promises: each connection is a stream of its own, so a slow one does not delay others; what the pod
refuses is an error of that connection alone.

Does not tell a pod that a client has sent everything: a WebSocket to a port has no half-close. Its
connection ends when the pod ends it, or after a second without an answer. Upstream: client-go
``tools/portforward``, which tunnels SPDY instead.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from clientgo.client.streams.channels import PIECE, ChannelSocket, ChannelStream
from clientgo.meta import StatusError
from clientgo.rest import RequestStoppedError, TransportError
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, ThreadStartError
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.client")

PROTOCOL: Final = "v4.channel.k8s.io"
_DATA: Final = 0
_ERROR: Final = 1
_PORT_BYTES: Final = 2
"""The first bytes of each channel are the number of the port."""

_MOST_CONNECTIONS: Final = 100
"""Connections at a time, each with two threads; more wait in the queue of the system."""


_QUIET_TIME: Final = 1.0
"""Seconds without an answer after which a connection ends whose client sends no more."""

_PAUSE: Final = 1.0
"""Seconds before the next connection is taken when the system has no room for one."""


class PortForwardError(TransportError, ConnectionError):
    """The pod did not take the connection, or ended it with an error."""


@uncopyable("it is a connection to a server; make one in each process")
class PortStream(ChannelStream):
    """One connection to a port of a pod; a context manager.

    One thread receives and one sends; any may call :meth:`stop`. Methods raise
    :class:`~clientgo.rest.TransportError`.
    """

    def __init__(self, channels: ChannelSocket) -> None:
        super().__init__(channels)
        self._to_skip = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}
        self.received = 0
        """Bytes so far."""

    def receive(self, timeout: float | None = None) -> bytes:
        """Return what comes next; empty at the end. Blocks, at most ``timeout`` seconds.

        Raises :class:`PortForwardError` for what the pod refuses.
        """
        while isinstance(message := self._channels.receive(timeout), tuple):
            channel, data = message
            skipped = min(self._to_skip.get(channel, 0), len(data))
            if skipped:
                self._to_skip[channel] -= skipped
                data = data[skipped:]
            if data and channel == _ERROR:
                text = data.decode(errors="replace").strip()
                raise PortForwardError(*self._channels.request, text)
            if data and channel == _DATA:
                self.received += len(data)
                return data
        return b""

    def send(self, data: bytes) -> None:
        """Send data; blocks while the pod does not read it."""
        self._channels.send(_DATA, data)


@uncopyable("it has threads; make one in each process")
class PortForward:
    """Forwards connections to a port of this machine to a pod, until it is closed.

    A context manager. A connection that fails is closed and logged; the others go on. Raises
    ``OSError`` if the local port is taken.
    """

    def __init__(
        self,
        connect: Callable[[threading.Event], PortStream],
        host: str,
        local_port: int,
        stop: threading.Event | None,
    ) -> None:
        self._connect = connect
        self._stop = StopEvent()
        self._changed = threading.Condition()
        self._threads: set[threading.Thread] = set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, local_port), family=family)
        self._wakeup, self._waker = socket.socketpair()
        self.host = host
        self.local_port: int = self._listener.getsockname()[1]
        """The port to connect to."""
        self._acceptor = SupervisedThread.started(
            self._accept, name="port-forward", then="no more connections are forwarded"
        )
        self._registrations = [call_when_set(self._stop, self._wake)]
        if stop is not None:
            self._registrations.append(call_when_set(stop, self._stop.set))

    def close(self) -> None:
        """End all connections, and return when the threads have ended. Idempotent."""
        self._stop.set()
        self._acceptor.join()
        with self._changed:
            threads = list(self._threads)
        for thread in threads:
            thread.join()
        for registration in self._registrations:
            registration.cancel()
        for end in (self._listener, self._wakeup, self._waker):
            end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wake(self) -> None:
        self._waker.send(b"x")
        with self._changed:
            self._changed.notify_all()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as arrivals:
            arrivals.register(self._listener, selectors.EVENT_READ)
            arrivals.register(self._wakeup, selectors.EVENT_READ)
            while self._waits_for_room() and arrivals.select() and not self._stop.is_set():
                try:
                    self._take(self._listener.accept()[0])
                except (OSError, ThreadStartError) as error:
                    _log.warning("Port %s takes no connection: %s", self.local_port, error)
                    self._stop.wait(_PAUSE)

    def _waits_for_room(self) -> bool:
        """Wait until one more connection may be open; return False after a stop."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._stop.is_set() or len(self._threads) < _MOST_CONNECTIONS
            )
        return not self._stop.is_set()

    def _take(self, client: socket.socket) -> None:
        with self._changed:  # the thread ends after it was added
            thread = SupervisedThread.started(
                self._serve,
                args=(client,),
                name=f"port-forward-{client.fileno()}",
                then="its connection was closed",
            )
            self._threads.add(thread)

    def _serve(self, client: socket.socket) -> None:
        """Copy what the pod sends to the client, and in a second thread the other way."""
        try:
            with client, self._connect(self._stop) as stream:
                ended = threading.Event()
                sender = SupervisedThread.started(
                    _send_all,
                    args=(client, stream, ended),
                    name=f"{threading.current_thread().name}-sender",
                    then="its connection ends",
                )
                # A client that does not read what came must not hold up the end.
                registration = call_when_set(self._stop, lambda: _shut_down(client))
                try:
                    while data := stream.receive():
                        client.sendall(data)
                finally:
                    ended.set()
                    _shut_down(client)
                    stream.stop()
                    sender.join()
                    registration.cancel()
        except RequestStoppedError as error:
            _log.debug("%s", error)
        except (TransportError, StatusError, OSError) as error:
            _log.warning("A connection to port %s was not forwarded: %s", self.local_port, error)
        finally:
            with self._changed:
                self._threads.discard(threading.current_thread())
                self._changed.notify_all()


def _send_all(client: socket.socket, stream: PortStream, ended: threading.Event) -> None:
    """Send what the client sends; after its end, go on while the pod answers."""
    try:
        while data := client.recv(PIECE):
            stream.send(data)
        before = -1
        while not ended.wait(_QUIET_TIME) and stream.received > before:
            before = stream.received
    except (OSError, TransportError) as error:
        _log.debug("%s", error)  # the other direction reports it
    stream.stop()


def _shut_down(client: socket.socket) -> None:
    with suppress(OSError):  # the other end has closed it
        client.shutdown(socket.SHUT_RDWR)
