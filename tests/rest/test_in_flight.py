from __future__ import annotations

import socket
import threading

from clientgo.rest.transport.in_flight import InFlight


def test_an_abort_before_there_is_a_socket_cuts_it_off_as_soon_as_there_is_one():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.abort()
        request.attach(here)

        assert here.recv(1) == b""
        assert there.recv(1) == b""


def test_an_abort_ends_a_blocked_read():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)
        received: list[bytes] = []
        reader = threading.Thread(target=lambda: received.append(here.recv(1)))
        reader.start()

        request.abort()
        reader.join(30)

    assert received == [b""]


def test_after_its_release_an_abort_touches_nothing():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)
        assert request.release()
        assert not request.release()

        request.abort()
        there.sendall(b"x")

        assert here.recv(1) == b"x"


def test_the_stop_event_aborts_until_the_release():
    stop = threading.Event()
    request = InFlight(stop)
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)

        stop.set()

        assert here.recv(1) == b""
    assert request.aborted


def test_an_attached_socket_takes_timeouts():
    request = InFlight()
    here, there = socket.socketpair()
    with here, there:
        request.attach(here)
        request.set_timeout(5.0)

        assert here.gettimeout() == 5.0
        request.release()
        request.set_timeout(1.0)
        assert here.gettimeout() == 5.0
