"""``clientgo study``: a page on which a key travels through the loop.

::

    clientgo study
    clientgo study --target my_project.testing:controller --manifest crd.yaml --manifest foo.yaml
    clientgo study --replay study.jsonl
    clientgo study --replay study.jsonl --export study.html
    clientgo study --lesson tombstone
"""

from __future__ import annotations

import argparse
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from clientgo.observe.serving import ServingError
from clientgo.tools.cli import exercises
from clientgo.tools.cli.inputs import UsageError, load_function, read_manifests
from clientgo.tools.study.lessons.catalog import LESSONS, lesson_called
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.live import live_lesson
from clientgo.tools.study.page import exported
from clientgo.tools.study.recording import Recording, RecordingError, load_recording
from clientgo.tools.study.server import PageServer
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import Target, TargetError, foo_target, own_target
from clientgo.util.text.terminal import CommandParser, ExitStatus, complain
from clientgo.util.wait import stop_on_signals


def configure(parser: CommandParser) -> None:
    """Add the arguments; ``run`` is what an invocation calls."""
    parser.show_examples(
        "clientgo study",
        "clientgo study --target my_project.testing:run --manifest crd.yaml --manifest foo.yaml",
        "clientgo study --replay study.jsonl",
        "clientgo study --lesson tombstone",
        "clientgo study exercises",
        "",
        "The function takes a RestConfig and returns a context manager in which the controller",
        "runs, as for clientgo perturb. Save a recording on the page.",
    )
    parser.add_argument("--port", type=int, default=0, help="of the page (default: a free one)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--target", metavar="MODULE:FACTORY", help="study this controller")
    what.add_argument("--replay", metavar="FILE", type=Path, help="show a recording (JSONL)")
    what.add_argument(
        "--lesson",
        metavar="NAME",
        choices=[lesson.name for lesson in LESSONS],
        help=f"play a lesson: {', '.join(lesson.name for lesson in LESSONS)}",
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        action="append",
        type=Path,
        default=[],
        help="with --target: definitions, and the objects that the controller works on",
    )
    parser.add_argument(
        "--export", metavar="FILE", type=Path, help="with --replay: write one HTML file, and end"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="show the controller's log")
    parser.set_defaults(run=_run)
    exercises.configure(parser)


def _run(options: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.INFO if options.verbose else logging.ERROR)
    try:
        _check(options)
        with stop_on_signals() as stop:
            if options.replay:
                replay(options, stop)
            elif options.lesson:
                play(lesson_called(options.lesson), stop, port=options.port)
            else:
                study(_target(options), stop, port=options.port)
    except (UsageError, TargetError, RecordingError, ServingError) as error:
        complain("clientgo study", error)
        return ExitStatus.USAGE
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.export and not options.replay:
        raise UsageError("--export needs --replay; on the live page use Export")
    if options.manifest and not options.target:
        raise UsageError("--manifest needs --target")


def study(
    target: Target,
    stop: threading.Event,
    *,
    port: int = 0,
    invite: Callable[[], object] = lambda: None,
) -> None:
    """Serve the page of a running controller until ``stop`` is set.

    ``invite`` is called when the address of the page was printed.
    """
    recording = Recording()
    with (
        Session(target, recording) as session,
        PageServer(recording, title=target.title, session=session, port=port) as page,
    ):
        _print(page)
        invite()
        stop.wait()


def play(
    lesson: Lesson,
    stop: threading.Event,
    *,
    port: int = 0,
    invite: Callable[[], object] = lambda: None,
) -> None:
    """Serve the page of a lesson with a running controller until ``stop`` is set."""
    with (
        live_lesson(lesson) as (session, live),
        PageServer(
            session.recording, title=lesson.title, session=session, lesson=live, port=port
        ) as page,
    ):
        _print(page)
        invite()
        stop.wait()


def replay(options: argparse.Namespace, stop: threading.Event) -> None:
    """Serve or write the page of a recording."""
    recording, title = load_recording(options.replay), options.replay.name
    if options.export:
        try:
            options.export.write_text(exported(recording, title), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{options.export} can't be written: {error.strerror}") from error
        return
    with PageServer(recording, title=title, port=options.port) as page:
        _print(page)
        stop.wait()


def _print(page: PageServer) -> None:
    print(f"Open {page.url}\nPress Ctrl-C to stop.", flush=True)


def _target(options: argparse.Namespace) -> Target:
    if not options.target:
        return foo_target()
    return own_target(
        options.target, load_function(options.target), read_manifests(options.manifest)
    )
