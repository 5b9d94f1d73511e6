"""Commands in containers: output, input, exit codes, and how they are ended."""

from __future__ import annotations

import contextlib
import itertools
import threading
from io import BytesIO
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Pod
from clientgo.client import Client, ResourceClient
from clientgo.client.streams import CommandFailedError, remote_command
from clientgo.meta import InternalServerError, NotFoundError, StatusError
from clientgo.rest import (
    ConnectionLostError,
    RequestError,
    RequestStoppedError,
    TransportTimeoutError,
)
from clientgo.testcluster.server import EmbeddedAPIServer, PodProcess, PodPrograms
from tests.background import Background


class Nowhere(BytesIO):
    """A file that keeps nothing."""

    def write(self, data: Any, /) -> int:
        return len(data)


EVERY_BYTE = bytes(range(256)) * 1000


def cat(process: PodProcess) -> int:
    for data in iter(process.read, b""):
        process.write(data)
    return 0


def test_output_error_output_and_exit_code_are_separate(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-01."""

    def program(process: PodProcess) -> int:
        process.write(f"{process.container}: {' '.join(process.command)}")
        process.write_error("oh")
        return 3

    server.provide_programs(PodPrograms(exec=program))

    result = pods.exec("web-0", ["ls", "-l", "a b", "é"])

    assert result.stdout.decode() == "web: ls -l a b é"
    assert (result.stderr, result.exit_code) == (b"oh", 3)


def test_the_exit_code_of_a_killed_command_is_no_error_until_it_is_checked(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-01."""

    def program(process: PodProcess) -> int:
        process.write_error("Killed\n")
        return 137

    server.provide_programs(PodPrograms(exec=program))

    result = pods.exec("web-0", ["sleep", "99"])

    assert result.exit_code == 137
    with pytest.raises(CommandFailedError, match="exit code 137: Killed") as caught:
        result.check()
    assert caught.value.exit_code == 137


@pytest.mark.parametrize(
    "stdin", [EVERY_BYTE, BytesIO(EVERY_BYTE), [EVERY_BYTE[:7], b"", EVERY_BYTE[7:]]]
)
def test_input_arrives_byte_by_byte_and_ends(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod], stdin: object
) -> None:
    """STM-03, STM-07."""
    server.provide_programs(PodPrograms(exec=cat))

    result = pods.exec("web-0", ["cat"], stdin=stdin, timeout=60)  # type: ignore[arg-type]

    assert result.check().stdout == EVERY_BYTE


def test_a_text_is_sent_as_utf_8_and_no_input_ends_at_once(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    server.provide_programs(PodPrograms(exec=cat))

    assert pods.exec("web-0", ["cat"], stdin="né", timeout=60).stdout == "né".encode()
    assert pods.exec("web-0", ["cat"], stdin=b"", timeout=60).stdout == b""
    assert pods.exec("web-0", ["cat"], timeout=60).stdout == b""


def test_input_and_output_flow_at_the_same_time(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """A command that writes while it reads needs a client that reads while it writes."""
    server.provide_programs(PodPrograms(exec=cat))
    pieces = itertools.repeat(bytes(64 * 1024), 500)
    out = BytesIO()

    pods.exec("web-0", ["cat"], stdin=pieces, stdout=out, timeout=60)

    assert out.tell() == 500 * 64 * 1024


def test_a_command_that_does_not_read_its_input_ends_all_the_same(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    def head(process: PodProcess) -> int:
        process.write(process.read()[:1])
        return 0

    server.provide_programs(PodPrograms(exec=head))

    result = pods.exec("web-0", ["head", "-c1"], stdin=itertools.repeat(b"x" * 5000), timeout=60)

    assert (result.stdout, result.exit_code) == (b"x", 0)


def test_a_slow_reader_slows_the_command_down(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-04."""
    total, piece = 64 * 1024 * 1024, bytes(64 * 1024)
    written = 0

    def program(process: PodProcess) -> int:
        nonlocal written
        while written < total:
            process.write(piece)
            written += len(piece)
        return 0

    server.provide_programs(PodPrograms(exec=program))
    read = ahead = 0

    with pods.start_exec("web-0", ["dump"]) as dump:
        for output in dump:
            read += len(output.data)
            ahead = max(ahead, written - read)

    assert read == total
    assert ahead < 16 * 1024 * 1024  # what the two sockets hold
    assert dump.exit_code == 0


def test_output_in_memory_has_a_limit(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_command, "_MOST_KEPT", 100_000)

    def yes(process: PodProcess) -> int:
        while True:
            process.write("y\n" * 5000)

    server.provide_programs(PodPrograms(exec=yes))

    with pytest.raises(RequestError, match="more than 100000 bytes; pass a file as stdout"):
        pods.exec("web-0", ["yes"])


def test_a_command_that_cannot_be_started_is_a_status_error(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-02."""

    def program(process: PodProcess) -> int:
        raise FileNotFoundError('exec: "nope": executable file not found in $PATH')

    server.provide_programs(PodPrograms(exec=program))

    with pytest.raises(InternalServerError, match=r"not found in \$PATH \(GET .*/pods/web-0/exec"):
        pods.exec("web-0", ["nope"])


def test_refusals_of_the_request_are_status_errors(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    server.provide_programs(PodPrograms(exec=cat))

    with pytest.raises(NotFoundError, match='pods "web-9" not found'):
        pods.exec("web-9", ["cat"])
    with pytest.raises(StatusError, match="container db is not valid for pod web-0"):
        pods.exec("web-0", ["cat"], container="db")


def test_without_programs_there_is_one_clear_refusal(pods: ResourceClient[Pod]) -> None:
    with pytest.raises(StatusError, match="exec is not available: the embedded API server") as no:
        pods.exec("web-0", ["cat"])
    assert no.value.code == 501


def test_calls_that_cannot_be_right_send_nothing(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    with pytest.raises(RequestError, match="a command is a list of its words"):
        pods.exec("web-0", "ls -l")  # type: ignore[arg-type]
    with Client(server.kubeconfig) as client, pytest.raises(RequestError, match="have no exec"):
        client.resource(Deployment).namespace("default").exec("web", ["ls"])


def silent(process: PodProcess) -> int:
    process.closed.wait()
    return 0


def talking(process: PodProcess) -> int:
    with contextlib.suppress(BrokenPipeError):
        while True:
            process.write(b"more" * 1000)
    return 0


def listening(process: PodProcess) -> int:
    for _ in iter(process.read, b""):
        pass
    return 0


@pytest.mark.parametrize(
    ("program", "stdin"),
    [(silent, None), (talking, None), (listening, itertools.repeat(b"more" * 1000))],
)
def test_a_timeout_ends_the_call_and_says_that_the_command_may_go_on(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod], program: Any, stdin: Any
) -> None:
    """STM-05: whatever flows."""
    server.provide_programs(PodPrograms(exec=program))

    with pytest.raises(TransportTimeoutError, match=r"within 0\.1 s; it may go on in the contain"):
        pods.exec("web-0", ["a"], stdin=stdin, stdout=Nowhere(), timeout=0.1)


@pytest.mark.parametrize("how", ["event", "method"])
def test_a_stop_from_another_thread_ends_a_call(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod], how: str
) -> None:
    """STM-05."""
    started, stop = threading.Event(), threading.Event()

    def program(process: PodProcess) -> int:
        started.set()
        process.closed.wait()
        return 0

    server.provide_programs(PodPrograms(exec=program))
    with pods.start_exec("web-0", ["sleep"], stop=stop) as running:
        reading = Background(running.read)
        assert started.wait(60)
        if how == "event":
            stop.set()
        else:
            running.stop()

        with pytest.raises(RequestStoppedError):
            reading.result()


def test_a_stop_ends_a_write_that_the_command_does_not_read(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    """STM-04, STM-05."""
    monkeypatch.setattr("clientgo.testcluster.server.http.channels._PING_PERIOD", 0.01)
    started, ended = threading.Event(), threading.Event()

    def program(process: PodProcess) -> int:
        started.set()
        process.closed.wait()
        ended.set()
        return 0

    server.provide_programs(PodPrograms(exec=program))
    with pods.start_exec("web-0", ["sleep"], stdin=True) as running:
        writing = Background(lambda: running.write(bytes(64 * 1024 * 1024)))
        assert started.wait(60)
        running.stop()

        with pytest.raises(RequestStoppedError):
            writing.result()
    assert ended.wait(60)  # the server notices, though it can read no more


def test_a_server_that_dies_is_no_success(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-02."""

    def program(process: PodProcess) -> int:
        process.write("half")
        process.drop()
        process.closed.wait()
        return 0

    server.provide_programs(PodPrograms(exec=program))
    out = BytesIO()

    with pytest.raises(ConnectionLostError):
        pods.exec("web-0", ["dump"], stdout=out)
    assert out.getvalue() == b"half"


def test_a_conversation_step_by_step(server: EmbeddedAPIServer, pods: ResourceClient[Pod]) -> None:
    server.provide_programs(PodPrograms(exec=cat))

    with pods.start_exec("web-0", ["cat"], stdin=True) as shell:
        for word in (b"one", b"two"):
            shell.write(word)
            answer = shell.read(timeout=60)
            assert answer is not None
            assert (answer.stream, answer.data) == ("stdout", word)
        with pytest.raises(TransportTimeoutError):
            shell.read(timeout=0.01)
        shell.write(b"three")  # a timeout ends nothing
        assert shell.read(timeout=60) is not None
        shell.close_stdin()
        assert shell.read(timeout=60) is None
        assert shell.exit_code == 0


def test_a_terminal_has_a_size_and_one_output(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-09."""

    def program(process: PodProcess) -> int:
        process.read()
        process.write_error(f"{process.tty} {process.size}")
        return 0

    server.provide_programs(PodPrograms(exec=program))

    with pods.start_exec("web-0", ["sh"], stdin=True, tty=True) as shell:
        shell.resize(120, 40)
        shell.write(b"\n")
        assert [*shell] == [("stdout", b"True (120, 40)")]


def test_an_attached_container_has_no_exit_code(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    """STM-09."""

    def program(process: PodProcess) -> int:
        process.write("log")
        assert process.command == ()
        return 0

    server.provide_programs(PodPrograms(attach=program))

    with pods.attach("web-0") as attached:
        assert [*attached] == [("stdout", b"log")]
        assert attached.exit_code is None


def test_many_commands_run_at_the_same_time(
    server: EmbeddedAPIServer, pods: ResourceClient[Pod]
) -> None:
    together = threading.Barrier(20)

    def program(process: PodProcess) -> int:
        together.wait(60)
        process.write(process.command[0])
        return 0

    server.provide_programs(PodPrograms(exec=program))
    calls = [Background(lambda n=n: pods.exec("web-0", [str(n)])) for n in range(20)]

    assert [call.result().stdout for call in calls] == [b"%d" % n for n in range(20)]
