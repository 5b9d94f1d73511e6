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
        from clientgo.wait import setup_signal_handler

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
        from clientgo.wait import setup_signal_handler

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
        from clientgo.wait import stop_on_signals

        with stop_on_signals() as stop:
            stop.set()
            signal.raise_signal(signal.SIGTERM)
        print("drained")
    """)
    assert (result.stdout, result.returncode) == ("drained\n", 0), result.stderr


def test_installing_the_handler_twice_is_a_programming_error() -> None:
    """SAMPLE-04."""
    result = run("""
        from clientgo.wait import setup_signal_handler

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
        from clientgo.wait import setup_signal_handler

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
        from clientgo.wait import setup_signal_handler

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
        from clientgo.wait import stop_on_signals

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
        from clientgo.wait import stop_on_signals

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
        from clientgo.wait import call_on_signals

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
