"""Several processes of one program on one machine."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from clientgo.sharding import address_of_process, process_number, stop_with_parent

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="passes signals on as POSIX does")

PROGRAM = """
import os
import sys
from clientgo.sharding import process_number, run_processes, stop_with_parent
from clientgo.util.wait import setup_signal_handler

if not process_number():
    sys.exit(run_processes(2))
stop = setup_signal_handler()
stop_with_parent(stop)
if "fail" in sys.argv and process_number() == 2:
    sys.exit(3)
os.write(1, f"process {process_number()} works\\n".encode())
stop.wait()
os.write(1, f"process {process_number()} stops\\n".encode())
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_signals_are_passed_on() -> None:
    program = start()
    assert program.stdout is not None
    started = {program.stdout.readline() for _ in range(2)}
    assert started == {"process 1 works\n", "process 2 works\n"}
    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=60)
    assert sorted(output.splitlines()) == ["process 1 stops", "process 2 stops"]
    assert (program.returncode, errors) == (0, "")


def test_when_one_ends_all_end() -> None:
    program = start("fail")
    program.communicate(timeout=60)
    assert program.returncode == 3


def test_one_that_does_not_handle_the_signal_was_stopped_all_the_same() -> None:
    code = """
import signal, sys, threading
from clientgo.sharding import process_number, run_processes
if not process_number():
    sys.exit(run_processes(2))
signal.signal(signal.SIGTERM, signal.SIG_DFL)
if process_number() == 2:
    threading.Event().wait()
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_processes_end_with_the_one_that_started_them() -> None:
    program = start()
    assert program.stdout is not None
    for _ in range(2):
        program.stdout.readline()
    program.kill()
    # The pipe ends when the last process that writes to it has ended.
    output, _ = program.communicate(timeout=60)
    assert sorted(output.splitlines()) == ["process 1 stops", "process 2 stops"]


def test_a_program_that_runs_alone_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLIENTGO_PROCESS", raising=False)
    monkeypatch.delenv("CLIENTGO_PARENT_FD", raising=False)
    before = set(threading.enumerate())
    stop_with_parent(threading.Event())
    assert set(threading.enumerate()) <= before
    assert process_number() == 0
    assert address_of_process(":8080") == ":8080"


@pytest.mark.parametrize(
    ("given", "third"),
    [(":8080", ":8082"), ("127.0.0.1:80", "127.0.0.1:82"), (":0", ":0"), ("", ""), ("0", "0")],
)
def test_each_process_listens_at_a_port_of_its_own(
    given: str, third: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIENTGO_PROCESS", "3")
    assert address_of_process(given) == third
