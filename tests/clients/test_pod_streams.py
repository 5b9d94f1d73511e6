"""Streams to pods of the official client and of kr8s, which have protocols of their own choice."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.testcluster.server import (
    EmbeddedAPIServer,
    PodConnection,
    PodProcess,
    PodPrograms,
)

kubernetes = pytest.importorskip("kubernetes")
stream_module = pytest.importorskip("kubernetes.stream")

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "default"},
    "spec": {"nodeName": "n", "containers": [{"name": "web", "image": "web:1"}]},
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": name, "status": "True"} for name in ("Initialized", "Ready", "ContainersReady")
        ],
    },
}


def program(process: PodProcess) -> int:
    if process.command[0] == "cat":
        for data in iter(process.read, b""):
            process.write(data)
        return 0
    process.write(" ".join(process.command))
    process.write_error("oh")
    return 3


def http(connection: PodConnection) -> None:
    if connection.port != 80:
        raise ConnectionRefusedError("connection refused")
    connection.read()
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server, Client(server.kubeconfig) as client:
        server.provide_programs(PodPrograms(exec=program, port=http))
        server.provide_logs(lambda _pod, _container: "one\ntwo\n")
        pods = client.resource(Pod).namespace("default")
        pods.create(POD)
        pods.update_status(POD)
        yield server


@pytest.fixture
def core(server: EmbeddedAPIServer) -> Any:
    api = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    return kubernetes.client.CoreV1Api(api)


def execute(core: Any, *command: str, stdin: bool = False) -> Any:
    return stream_module.stream(
        core.connect_get_namespaced_pod_exec,
        "web-0",
        "default",
        command=list(command),
        stdin=stdin,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )


def test_the_official_client_runs_commands(core: Any) -> None:
    done = execute(core, "ls", "-l")
    done.run_forever(timeout=30)

    assert (done.read_stdout(), done.read_stderr(), done.returncode) == ("ls -l", "oh", 3)

    echo = execute(core, "cat", stdin=True)
    echo.write_stdin("typed")
    assert echo.read_stdout(timeout=30) == "typed"
    echo.close()


def test_the_official_client_connects_to_ports(core: Any) -> None:
    forward = stream_module.portforward(
        core.connect_get_namespaced_pod_portforward, "web-0", "default", ports="80,81"
    )
    good, bad = forward.socket(80), forward.socket(81)
    good.setblocking(True)
    bad.setblocking(True)
    good.sendall(b"GET / HTTP/1.1\r\n\r\n")

    assert good.recv(1000).endswith(b"hi")
    assert bad.recv(1000) == b""
    assert "connection refused" in forward.error(81)


def test_the_official_client_follows_logs(core: Any) -> None:
    lines = kubernetes.watch.Watch().stream(
        core.read_namespaced_pod_log, "web-0", "default", follow=True
    )

    assert [next(lines), next(lines)] == ["one", "two"]
    lines.close()


def free_port() -> int:
    """Return a port that is free, and that no connection of another test gets by itself.

    kr8s would take any and bind it later. Linux gives connections ports from 32768 on.
    """
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as tried, contextlib.suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise AssertionError("none of 100 ports is free")


def test_kr8s_runs_commands_and_connects_to_ports(server: EmbeddedAPIServer) -> None:
    kr8s = pytest.importorskip("kr8s.asyncio")

    def page(port: int) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            return answer.read()

    async def use() -> tuple[Any, bytes]:
        api = await kr8s.api(kubeconfig=str(server.kubeconfig))
        pod = await kr8s.objects.Pod.get("web-0", namespace="default", api=api)
        done = await pod.exec(["ls"], check=False)
        async with pod.portforward(remote_port=80, local_port=free_port()) as port:
            return done, await asyncio.to_thread(page, port)

    done, answer = asyncio.run(use())

    assert (done.stdout, done.stderr, done.returncode, answer) == (b"ls", b"oh", 3, b"hi")
