"""A lesson that is played with a controller that runs: the page begins it, and answers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from clientgo.observe.trace import active_trace
from clientgo.tools.study.lessons.late_controller import LateController, lesson_target
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.marks import MARK, LessonError
from clientgo.tools.study.lessons.stage import Stage
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import Session
from clientgo.util.process import SupervisedThread


class LiveLesson:
    """Runs a lesson's script when a page asks for it, each time from its beginning. Thread-safe."""

    def __init__(self, lesson: Lesson, session: Session, controller: LateController) -> None:
        self.lesson: Final = lesson
        self._session = session
        self._controller = controller
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._stage: Stage | None = None
        self._thread: threading.Thread | None = None
        self._answered = threading.Event()

    def new_number(self) -> int:
        """Return the number of another run, for a page that will begin it."""
        return next(self._numbers)

    def begin(self, number: int) -> None:
        """Begin a run; one that is under way ends."""
        with self._lock:
            self._end_locked()
            self._answered = threading.Event()
            self._stage = Stage(self._session, self._controller, self._answered.wait, number=number)
            self._thread = SupervisedThread.started(
                self._run, args=(self._stage,), name="lesson", then="the lesson stops"
            )

    def answer(self) -> None:
        """Let the run go on after its question."""
        self._answered.set()

    def end(self) -> None:
        """End the run that is under way; blocks until its thread has ended."""
        with self._lock:
            self._end_locked()

    def _end_locked(self) -> None:
        if self._stage is not None and self._thread is not None:
            self._stage.abort()
            self._answered.set()
            self._thread.join()

    def _run(self, stage: Stage) -> None:
        try:
            self.lesson.perform(stage)
        except Exception as error:
            trace = active_trace()
            if trace is not None:
                trace.note(MARK, "", what="failed", text=str(error) or type(error).__name__)
            self._session.pacing.resume()  # else the next run waits for held threads
            if not isinstance(error, LessonError):
                raise


@contextmanager
def live_lesson(lesson: Lesson) -> Iterator[tuple[Session, LiveLesson]]:
    """Run a session in which a lesson can be played."""
    controller = LateController()
    with Session(lesson_target(controller), Recording(), beside=lambda _: nullcontext()) as session:
        live = LiveLesson(lesson, session, controller)
        try:
            yield session, live
        finally:
            live.end()
