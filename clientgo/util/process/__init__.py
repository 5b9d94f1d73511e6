"""Threads and forks: what every part of clientgo needs from the process that it runs in.

- `SupervisedThread`: a thread that cannot end by an exception without a log line and a count;
- `start_threads`: all of them or none; `ThreadStartError`: the system has refused one;
- `join_threads`: wait for all of them; `deadline_after`, `time_left`: one limit for several waits;
- `renew_in_child`, `refuse_in_child`, `call_in_child`: what happens in a forked child process;
- `ForkAwareContext`: a context manager whose end a forked child leaves to its parent;
- `files_left`, `raise_file_limit`: how many files it may open;
- `cpu_time_limit`: processor time for a piece of work that checks it itself;
- `process_age`: how long it has been running;
- `ForkedProcessError`: raised in a child by what belongs to its parent.
"""

from clientgo.util.process.age import process_age
from clientgo.util.process.cpu_time import (
    CpuTimeExceededError,
    CpuTimeLimit,
    check_cpu_time,
    cpu_time_limit,
    current_cpu_time_limit,
)
from clientgo.util.process.forks import (
    ForkAwareContext,
    ForkedProcessError,
    call_in_child,
    generation,
    refuse_in_child,
    renew_in_child,
)
from clientgo.util.process.open_files import files_left, raise_file_limit
from clientgo.util.process.threads import (
    SupervisedThread,
    ThreadStartError,
    crash_handlers,
    deadline_after,
    join_threads,
    run_with_threads,
    start_threads,
    time_left,
)

__all__ = [
    "SupervisedThread",
    "ThreadStartError",
    "crash_handlers",
    "run_with_threads",
    "start_threads",
    "join_threads",
    "deadline_after",
    "time_left",
    "ForkedProcessError",
    "ForkAwareContext",
    "call_in_child",
    "generation",
    "refuse_in_child",
    "renew_in_child",
    "files_left",
    "raise_file_limit",
    "CpuTimeExceededError",
    "CpuTimeLimit",
    "check_cpu_time",
    "cpu_time_limit",
    "current_cpu_time_limit",
    "process_age",
]
