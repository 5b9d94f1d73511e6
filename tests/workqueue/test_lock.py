"""The lock of a work queue, and the operations that use it."""

from __future__ import annotations

import threading

import pytest

from clientgo.workqueue.lock import LockedOperations, QueueLock
from tests.background import Background


class Interrupt(BaseException):
    """What Ctrl-C raises, without ending the test run."""


class Recording(LockedOperations):
    """Operations that note what they do."""

    def __init__(self) -> None:
        super().__init__("foos")
        self.done: list[str] = []
        self.repaired = 0

    def _repair_locked(self) -> None:
        assert self._lock.locked()
        self.repaired += 1

    def note(self, item: str) -> str:
        assert self._lock.locked()
        self.done.append(item)
        return item


class Watched(QueueLock):
    """Counts the threads that wait for it."""

    def __init__(self) -> None:
        super().__init__("foos")
        self.waits = threading.Semaphore(0)

    def wait(self) -> None:
        self.waits.release()
        super().wait()


@pytest.fixture
def lock() -> Watched:
    return Watched()


@pytest.fixture
def operations() -> Recording:
    return Recording()


def test_the_lock_is_had_once(lock: QueueLock) -> None:
    assert lock.acquire(False)
    assert not lock.acquire(False)
    lock.release()
    assert not lock.locked()


def test_a_second_release_does_not_let_two_in(lock: QueueLock) -> None:
    lock.acquire()
    lock.release()
    lock.release()

    assert lock.acquire(False)
    assert not lock.acquire(False)


def test_a_thread_that_waits_has_the_lock_after_its_release(lock: Watched) -> None:
    lock.acquire()
    waiter = Background(lock.acquire)
    assert lock.waits.acquire(timeout=30)
    lock.release()

    assert waiter.result(timeout=30) is True
    assert lock.locked()


def test_what_is_left_while_the_lock_is_taken_is_done_at_its_release_in_order(
    operations: Recording,
) -> None:
    with operations._lock:
        for item in "abc":
            operations._do_locked(operations.note, item, or_leave=True)
        assert operations.done == []

    assert operations.done == ["a", "b", "c"]


def test_what_was_left_comes_before_an_operation_that_follows(operations: Recording) -> None:
    operations._token.clear()
    operations._leave_to_holder(operations.note, "a")
    operations._token.append(None)  # the holder has not yet looked

    assert operations._do_locked(operations.note, "b") == "b"
    assert operations.done == ["a", "b"]


def test_what_is_left_by_what_was_left_is_done_too(operations: Recording) -> None:
    def again(item: str) -> None:
        operations._do_locked(operations.note, item, or_leave=True)

    with operations._lock:
        operations._do_locked(again, "a", or_leave=True)

    assert operations.done == ["a"]


def test_what_is_no_item_is_refused_instead_of_being_left(operations: Recording) -> None:
    with operations._lock, pytest.raises(TypeError, match="unhashable"):
        operations._do_locked(operations.note, [], or_leave=True)

    assert operations.done == []


def test_an_operation_that_raises_is_repaired_and_gives_the_lock_back(
    operations: Recording,
) -> None:
    def fail(_: object) -> None:
        raise Interrupt

    with pytest.raises(Interrupt):
        operations._do_locked(fail)

    assert operations.repaired == 1
    assert not operations._lock.locked()


def test_a_left_operation_that_fails_is_logged_and_the_next_is_done(
    operations: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(item: str) -> None:
        raise ValueError(item)

    with operations._lock:
        operations._do_locked(fail, "a", or_leave=True)
        operations._do_locked(operations.note, "b", or_leave=True)

    assert "work queue 'foos': the ordering failed for 'a'" in caplog.text
    assert operations.repaired == 1
    assert operations.done == ["b"]


def test_a_left_operation_that_its_holders_interrupt_ends_is_done_by_the_next(
    operations: Recording,
) -> None:
    interrupts = [Interrupt()]

    def interrupted(item: str) -> None:
        if interrupts:
            raise interrupts.pop()
        operations.note(item)

    operations._lock.acquire()
    operations._do_locked(interrupted, "a", or_leave=True)
    with pytest.raises(Interrupt):
        operations._lock.release()

    assert not operations._lock.locked()
    assert operations.repaired == 1
    assert operations._do_locked(operations.note, "b") == "b"
    assert operations.done == ["a", "b"]


def test_a_read_that_interrupts_an_operation_does_not_wait_for_it(operations: Recording) -> None:
    def read(_: object) -> list[str]:
        return operations._read(lambda: list(operations.done))

    operations.done.append("a")

    assert Background(lambda: operations._do_locked(read)).result(timeout=30) == ["a"]


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_done_without_the_lock_has_it_again_afterwards(
    lock: QueueLock, fails: bool
) -> None:
    seen: list[bool] = []

    def operation() -> None:
        seen.append(lock.locked())
        if fails:
            raise Interrupt

    lock.acquire()
    if fails:
        with pytest.raises(Interrupt):
            lock.do_released(operation)
    else:
        lock.do_released(operation)

    assert seen == [False]
    assert lock.locked()


def test_a_wait_for_a_condition_that_is_interrupted_has_the_lock_again(lock: QueueLock) -> None:
    def interrupt(_: object) -> None:
        raise Interrupt

    condition = lock.condition()
    lock.acquire()
    lock.left.append((interrupt, "a"))  # for the thread that waits, which gives the lock back
    with pytest.raises(Interrupt):
        condition.wait()

    assert lock.locked()
