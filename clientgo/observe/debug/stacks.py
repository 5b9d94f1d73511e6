"""The stack of every thread of this process.

Source: Go, ``/debug/pprof/goroutine?debug=2``.
"""

from __future__ import annotations

import sys
import threading
import traceback


def thread_stacks() -> dict[str, list[str]]:
    """Return the stack of each thread by its name and number, the innermost call last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return {
        f"{names.get(ident, 'thread that Python did not start')} ({ident})": [
            f"{call.filename}:{call.lineno} {call.name}: {call.line}"
            for call in traceback.extract_stack(frame)
        ]
        for ident, frame in sorted(
            sys._current_frames().items(), key=lambda item: names.get(item[0], "")
        )
    }
