"""Several processes of one program on one machine, for programs whose work needs more than a core.

CPython runs one thread of Python at a time in a process, so threads share one core. The processes
are members of one group and share the work as replicas on several machines do.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Final

from clientgo.util.process import SupervisedThread, start_threads
from clientgo.util.wait import call_on_signals

NUMBER: Final = "CLIENTGO_PROCESS"
"""The variable with the number of a process, from 1."""

_PARENT: Final = "CLIENTGO_PARENT_FD"

_log = logging.getLogger("clientgo.sharding")


def process_number() -> int:
    """Return the number of this process among those of :func:`run_processes`, or 0."""
    return int(os.environ.get(NUMBER, "0"))


def run_processes(count: int, command: Sequence[str] = ()) -> int:
    """Run a program ``count`` times, by default this one again; return an exit code when all ended.

    SIGINT and SIGTERM are passed on; when one process ends, the others are stopped too, so that
    what watches this one restarts all. The result is the first exit code that is not 0. Blocks;
    call it from the main thread.
    """
    command = command or sys.orig_argv
    reader, writer = os.pipe()
    processes: list[subprocess.Popen[bytes]] = []
    codes: list[int] = []
    told = threading.Event()

    def stop(number: signal.Signals) -> None:
        told.set()
        for process in processes:
            if process.poll() is None:
                process.send_signal(number)

    def wait(process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        # One that was ending already may not handle the signal any more.
        codes.append(0 if told.is_set() and code in (-signal.SIGTERM, -signal.SIGINT) else code)
        if not told.is_set():  # a second signal would end the others immediately
            stop(signal.SIGTERM)

    try:
        with call_on_signals(stop):
            for number in range(1, count + 1):
                environment = {**os.environ, NUMBER: str(number), _PARENT: str(reader)}
                processes.append(
                    # A session of its own: Ctrl-C arrives once, by way of this process.
                    subprocess.Popen(
                        command, env=environment, pass_fds=(reader,), start_new_session=True
                    )
                )
            waiting = [
                SupervisedThread(wait, args=(process,), name="process", then="restart this program")
                for process in processes
            ]
            try:
                start_threads(waiting)
            except BaseException:
                for process in processes:
                    process.terminate()
                for process in processes:
                    process.wait()
                raise
            for thread in waiting:
                thread.join()
    finally:
        os.close(reader)
        os.close(writer)
    return next((code if code > 0 else 128 - code for code in codes if code), 0)


def stop_with_parent(stop: threading.Event) -> None:
    """Set ``stop`` when the process that :func:`run_processes` runs in is gone.

    Does nothing in a program that was started otherwise.
    """
    parent = os.environ.get(_PARENT)
    if not parent:
        return

    def wait() -> None:
        os.read(int(parent), 1)  # nothing is written: it returns when the other end is closed
        _log.warning("the process that started this one is gone: stopping")
        stop.set()

    SupervisedThread.started(
        wait, name="parent-watch", then="this process goes on if the one that started it ends"
    )


def address_of_process(address: str) -> str:
    """Return where this process should listen: ports one higher for each process."""
    host, colon, port = address.rpartition(":")
    above = max(process_number() - 1, 0)
    return f"{host}{colon}{int(port) + above}" if port.isdecimal() and int(port) else address
