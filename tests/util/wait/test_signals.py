"""Turning signals into a stop event."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_sets_the_event(number: signal.Signals) -> None:
    """SAMPLE-04."""
    result = run(f"""
        import os
        from clientgo.util.wait import setup_signal_handler

        stop = setup_signal_handler()
        os.kill(os.getpid(), {int(number)})
        assert stop.wait(30)
        print("drained")
    """)
    assert (result.stdout, result.returncode) == ("drained\n", 0), result.stderr


def test_the_second_signal_exits_with_status_1_at_once() -> None:
    """SAMPLE-04."""
    result = run("""
        import os, signal, threading
        from clientgo.util.wait import setup_signal_handler

        stop = setup_signal_handler()
        os.kill(os.getpid(), signal.SIGTERM)
        stop.wait(30)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(30)
        print("still here")
    """)
    assert (result.stdout, result.returncode) == ("", 1), result.stderr


def test_the_first_signal_lets_a_program_drain_that_stops_already() -> None:
    """SAMPLE-04."""
    result = run("""
        import signal
        from clientgo.util.wait import stop_on_signals

        with stop_on_signals() as stop:
            stop.set()
            signal.raise_signal(signal.SIGTERM)
        print("drained")
    """)
    assert (result.stdout, result.returncode) == ("drained\n", 0), result.stderr


def test_installing_the_handler_twice_is_a_programming_error() -> None:
    """SAMPLE-04."""
    result = run("""
        from clientgo.util.wait import setup_signal_handler

        setup_signal_handler()
        try:
            setup_signal_handler()
        except RuntimeError as error:
            print(error)
    """)
    assert "already called in this process" in result.stdout, result.stderr


def test_a_signal_that_interrupts_a_wait_on_the_event_does_not_block() -> None:
    result = run("""
        import os, signal, threading
        from clientgo.util.wait import setup_signal_handler

        stop = setup_signal_handler()
        main = threading.main_thread().ident
        threading.Timer(0.05, lambda: signal.pthread_kill(main, signal.SIGTERM)).start()
        assert stop.wait(30)
        print("woken")
    """)
    assert (result.stdout, result.returncode) == ("woken\n", 0), result.stderr


def test_a_signal_is_heeded_though_the_main_thread_waits_for_something_else() -> None:
    """Python's own handlers would not run before that wait is over."""
    result = run("""
        import os, signal, threading
        from clientgo.util.wait import setup_signal_handler

        stop = setup_signal_handler()
        gate = threading.Lock()
        gate.acquire()

        def let_go():
            assert stop.wait(30)
            gate.release()

        threading.Thread(target=let_go, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # the thread takes it instead
        os.kill(os.getpid(), signal.SIGTERM)
        assert gate.acquire(timeout=30)
        print("released")
    """)
    assert (result.stdout, result.returncode) == ("released\n", 0), result.stderr


def test_handlers_for_a_block_give_the_previous_ones_back() -> None:
    """OP-MGR-25: one manager after the other can be stopped by signals."""
    result = run("""
        import os, signal, threading
        from clientgo.util.wait import stop_on_signals

        before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
        for _ in range(2):
            with stop_on_signals() as stop:
                os.kill(os.getpid(), signal.SIGTERM)
                assert stop.wait(30)
        with stop_on_signals():
            pass
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
        assert threading.active_count() == 1, threading.enumerate()
        print("as before")
    """)
    assert (result.stdout, result.returncode) == ("as before\n", 0), result.stderr


def test_signals_are_handled_in_the_main_thread_only() -> None:
    result = run("""
        import threading
        from clientgo.util.wait import stop_on_signals

        def install():
            try:
                with stop_on_signals():
                    pass
            except RuntimeError as error:
                print(error)

        thread = threading.Thread(target=install)
        thread.start()
        thread.join()
    """)
    assert "main thread only" in result.stdout, result.stderr


def test_signals_that_come_together_are_all_passed_on() -> None:
    """The system may give the second one to another thread than the main one."""
    result = run("""
        import os, signal, subprocess, sys, threading
        from clientgo.util.wait import call_on_signals

        received, complete = set(), threading.Event()

        def note(number):
            received.add(number)
            if received == {signal.SIGINT, signal.SIGTERM}:
                complete.set()

        both = "import os, signal, sys; [os.kill(int(sys.argv[1]), n) for n in (2, 15)]"
        for _ in range(5):
            received.clear(), complete.clear()
            with call_on_signals(note):
                subprocess.run([sys.executable, "-c", both, str(os.getpid())], check=True)
                assert complete.wait(60), received
        print("complete")
    """)
    assert (result.stdout, result.returncode) == ("complete\n", 0), result.stderr


def in_a_process(script: str) -> str:
    """Run a script that has `kill`, the handlers and their modules; return what it prints."""
    prelude = """
        import asyncio, os, signal, sys, threading
        from clientgo.util.wait import setup_signal_handler, stop_on_signals

        def kill(number=signal.SIGTERM):
            os.kill(os.getpid(), number)

    """
    result = run(textwrap.dedent(prelude) + textwrap.dedent(script))
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("before", "SIGUSR1"),
        ("in the loop", "SIGUSR1"),
        ("after add_signal_handler", "SIGUSR1"),
        ("after add_signal_handler", "SIGTERM"),
    ],
)
def test_signals_reach_the_stop_and_the_handlers_of_asyncio(ours: str, theirs: str) -> None:
    """FIELD-71: add_signal_handler takes the wake-up descriptor, and the stop was never set.

    What asyncio installs for SIGTERM after ours is in place of ours, as with signal.signal.
    """
    out = in_a_process(f"""
        ours, theirs = {ours!r}, signal.{theirs}
        stop = setup_signal_handler() if ours == "before" else None

        async def main():
            global stop
            loop, seen = asyncio.get_running_loop(), asyncio.Event()
            if ours == "in the loop":
                stop = setup_signal_handler()
            loop.add_signal_handler(theirs, seen.set)
            if ours == "after add_signal_handler":
                stop = setup_signal_handler()
            kill(theirs)
            await asyncio.wait_for(seen.wait(), 30)
            print("asyncio has seen it")
            if theirs != signal.SIGTERM:
                kill()
            assert await asyncio.to_thread(stop.wait, 30)
            print("stopped")

        asyncio.run(main())
    """)
    assert out == "asyncio has seen it\nstopped\n"


def test_signals_reach_the_stop_after_the_loop_has_closed() -> None:
    """FIELD-71: the loop takes the wake-up descriptor away when it closes."""
    out = in_a_process("""
        stop = setup_signal_handler()

        async def main():
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)

        asyncio.run(main())
        kill()
        print(stop.wait(30))
    """)
    assert out == "True\n"


def test_ctrl_c_under_asyncio_run_drains_instead_of_cancelling() -> None:
    out = in_a_process("""
        async def main():
            stop = setup_signal_handler()
            kill(signal.SIGINT)
            print(await asyncio.to_thread(stop.wait, 30))
            await asyncio.sleep(0)
            print("drained")

        asyncio.run(main())
    """)
    assert out == "True\ndrained\n"


def test_the_second_signal_exits_also_if_asyncio_has_the_wakeup_descriptor() -> None:
    result = run("""
        import asyncio, os, signal
        from clientgo.util.wait import setup_signal_handler

        async def main():
            stop = setup_signal_handler()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.to_thread(stop.wait, 30)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(30)
            print("still here")

        asyncio.run(main())
    """)
    assert (result.stdout, result.returncode) == ("", 1), result.stderr


def test_the_handler_that_was_there_before_is_called_too() -> None:
    out = in_a_process("""
        called = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: called.set())
        with stop_on_signals() as stop:
            kill()
            print(stop.wait(30), called.wait(30))
    """)
    assert out == "True True\n"


@pytest.mark.parametrize("end", ["sys.exit(3)", "signal.default_int_handler(2, None)"])
def test_a_handler_from_before_that_ends_the_program_lets_it_drain(end: str) -> None:
    out = in_a_process(f"""
        signal.signal(signal.SIGTERM, lambda *_: {end})
        with stop_on_signals() as stop:
            kill()
            stop.wait(30)
            print("drained")
    """)
    assert out == "drained\n"


def test_a_handler_that_another_library_installed_later_and_passes_on_counts_once() -> None:
    out = in_a_process("""
        stop = setup_signal_handler()
        ours = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, lambda *args: (print("theirs"), ours(*args)))
        kill()
        print(stop.wait(30))
    """)
    assert out == "theirs\nTrue\n"


def test_handlers_that_another_library_installed_later_stay_after_the_end() -> None:
    out = in_a_process("""
        reader, writer = __import__("socket").socketpair()
        writer.setblocking(False)
        with stop_on_signals():
            signal.signal(signal.SIGTERM, lambda *_: print("theirs"))
            before = signal.set_wakeup_fd(writer.fileno())
        kill()
        print(reader.recv(1)[0])
        print(signal.set_wakeup_fd(before) == writer.fileno())  # as a library does at its end
        with stop_on_signals() as stop:
            kill()
            print(stop.wait(30))
    """)
    assert out == "theirs\n15\nTrue\ntheirs\nTrue\n"


def test_a_handler_that_is_put_back_after_the_end_does_what_was_before() -> None:
    result = run("""
        import os, signal
        from clientgo.util.wait import stop_on_signals

        with stop_on_signals():
            ours = signal.getsignal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, ours)
        os.kill(os.getpid(), signal.SIGTERM)
        print("still here")
    """)
    assert (result.stdout, result.returncode) == ("", -signal.SIGTERM), result.stderr


def test_a_forked_child_is_stopped_by_its_own_signals_only() -> None:
    out = in_a_process("""
        stop = setup_signal_handler()
        asyncio.run(asyncio.sleep(0))
        __import__("warnings").simplefilter("ignore")  # of forks beside threads
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, b"ready")
            signal.pause()
        os.read(reader, 5)
        os.kill(child, signal.SIGTERM)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), stop.is_set())
        kill()
        print(stop.wait(30))
    """)
    assert out == f"{-signal.SIGTERM} False\nTrue\n"


def test_a_refused_thread_leaves_the_signals_as_they_were() -> None:
    """FIELD-74."""
    out = in_a_process("""
        from clientgo.util.process import ThreadStartError

        name = "_start_joinable_thread"
        name = name if hasattr(threading, name) else "_start_new_thread"
        start = getattr(threading, name)

        def refuse(*_, **__):
            raise RuntimeError("can't start new thread")

        before = signal.getsignal(signal.SIGTERM)
        setattr(threading, name, refuse)
        try:
            setup_signal_handler()
        except ThreadStartError:
            print(signal.getsignal(signal.SIGTERM) == before)
        setattr(threading, name, start)
        stop = setup_signal_handler()
        kill()
        print(stop.wait(30))
    """)
    assert out == "True\nTrue\n"
