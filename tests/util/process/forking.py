"""What forked children do, seen from their parent."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Sequence


def in_child(function: Callable[[], object]) -> str:
    """Return what `function` returns in a forked child, as text, or what it raises there."""
    return in_children([function])[0]


def in_children(functions: Sequence[Callable[[], object]], *, within: float = 60.0) -> list[str]:
    """The same for several functions, in as many children that run side by side.

    A child that does not answer is killed, and its answer is "hangs".
    """
    gate_reader, gate = os.pipe()
    children = [_fork(function, gate_reader) for function in functions]
    os.write(gate, b"." * len(children))
    answers = [_answer(child, reader, within) for child, reader in children]
    os.close(gate_reader)
    os.close(gate)
    return answers


def _fork(function: Callable[[], object], gate: int) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(gate, 1)
            answer = str(function())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    return child, reader


def _answer(child: int, reader: int, within: float) -> str:
    answered, _, _ = select.select([reader], [], [], within)
    if not answered:
        os.kill(child, signal.SIGKILL)
    answer = os.read(reader, 65536).decode() if answered else "hangs"
    os.close(reader)
    os.waitpid(child, 0)
    return answer
