"""The programs of simulated containers: a few commands, and a port that answers.

Promises ``echo``, ``cat``, ``hostname``, ``env``, ``sleep``, ``true`` and ``false`` with their
usual output and exit code; ``cat`` reads what volumes contain. Any other command is not found, as
in an image without it. The ports that a container declares answer: HTTP with the pod's name,
anything else with itself. An attached container writes its log.

Does not promise a shell. A test that needs more passes functions to ``provide_programs``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from clientgo.testcluster.server import PodConnection, PodProcess, PodPrograms

Logs = Callable[[Mapping[str, object], str], str]
Files = Callable[[Mapping[str, object], str, str], bytes]


def simulated_programs(logs: Logs, files: Files) -> PodPrograms:
    """Return the programs of containers with these logs and files."""

    def cat(process: PodProcess) -> int:
        return _cat(process, files)

    def run(process: PodProcess) -> int:
        return _run(process, {**_PROGRAMS, "cat": cat})

    def attach(process: PodProcess) -> int:
        process.write(logs(process.pod, process.container))
        process.closed.wait()
        return 0

    return PodPrograms(exec=run, attach=attach, port=_serve)


def _run(process: PodProcess, programs: Mapping[str, Callable[[PodProcess], int]]) -> int:
    command = process.command[0].rpartition("/")[2]
    program = programs.get(command)
    if program is None:
        raise FileNotFoundError(
            f'exec: "{process.command[0]}": executable file not found in $PATH (simulated '
            f"containers have {', '.join(sorted(programs))})"
        )
    return program(process)


def _echo(process: PodProcess) -> int:
    process.write(" ".join(process.command[1:]) + "\n")
    return 0


def _cat(process: PodProcess, files: Files) -> int:
    status = 0
    for path in process.command[1:]:
        try:
            process.write(files(process.pod, process.container, path))
        except FileNotFoundError:
            process.write_error(f"cat: {path}: No such file or directory\n")
            status = 1
    if len(process.command) == 1:
        for data in iter(process.read, b""):
            process.write(data)
    return status


def _env(process: PodProcess) -> int:
    containers = process.pod["spec"]["containers"]
    [declared] = [each.get("env", []) for each in containers if each["name"] == process.container]
    variables = {each["name"]: each.get("value", "") for each in declared}
    shown = {"HOSTNAME": process.pod["metadata"]["name"], **variables}
    process.write("".join(f"{name}={value}\n" for name, value in shown.items()))
    return 0


def _hostname(process: PodProcess) -> int:
    process.write(f"{process.pod['metadata']['name']}\n")
    return 0


def _sleep(process: PodProcess) -> int:
    try:
        process.closed.wait(float(process.command[1]))
    except (IndexError, ValueError):
        process.write_error("sleep: one number of seconds is needed\n")
        return 1
    return 0


_PROGRAMS: Final[Mapping[str, Callable[[PodProcess], int]]] = {
    "echo": _echo,
    "env": _env,
    "false": lambda _: 1,
    "hostname": _hostname,
    "sleep": _sleep,
    "true": lambda _: 0,
}


def _serve(connection: PodConnection) -> None:
    declared = [
        port["containerPort"]
        for container in connection.pod["spec"]["containers"]
        for port in container.get("ports", [])
    ]
    if connection.port not in declared:
        raise ConnectionRefusedError(
            f"dial tcp4 127.0.0.1:{connection.port}: connect: connection refused (the containers "
            f"declare {declared})"
        )
    for data in iter(connection.read, b""):
        if b" HTTP/1." in data.partition(b"\r\n")[0]:
            text = connection.pod["metadata"]["name"]
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                f"Content-Length: {len(text)}\r\n\r\n{text}"
            )
            return
        connection.write(data)
