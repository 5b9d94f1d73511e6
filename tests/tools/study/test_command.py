"""``clientgo study``: what it starts, and what it refuses."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.rest import RestConfig
from clientgo.tools.cli.study import study
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import Runner, Target, TargetError, foo_target, own_target
from clientgo.workqueue import RateLimitingQueue
from sample_controller.demo import artifact, controller
from tests.background import Background
from tests.tools.study.reading import Reader

ROOT = Path(__file__).parents[3]


@contextmanager
def own_loop(_config: RestConfig) -> Iterator[None]:
    """Run a controller that has a worker loop of its own."""
    queue = RateLimitingQueue[str](name="own")
    worker = threading.Thread(target=work, args=(queue,))
    worker.start()
    queue.add("default/example")
    yield
    queue.shut_down()
    worker.join()


def work(queue: RateLimitingQueue[str]) -> None:
    while True:
        key, shutting_down = queue.get()
        if shutting_down:
            return
        with queue.syncing(key):
            pass
        queue.done(key)


def sample_target(run: Runner = controller) -> Target:
    manifests = [artifact("crd-status-subresource.yaml"), artifact("example-foo.yaml")]
    return own_target("sample", run, manifests)


@pytest.mark.parametrize("make", [foo_target, sample_target])
def test_one_command_starts_everything_and_says_where_to_look(
    make: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(make)
    stop, printed = threading.Event(), threading.Event()
    running_study = Background(lambda: study(make(), stop, invite=printed.set))
    assert printed.wait(60)

    (url,) = re.findall(r"http://127\.0\.0\.1:\d+/\S+/", capsys.readouterr().out)
    with urllib.request.urlopen(url, timeout=30) as answer:
        page = answer.read().decode()

    stop.set()
    running_study.result()
    assert "Ten edits at once" in page
    assert "Restart server" in page


def test_the_code_of_another_controller_is_found_where_it_comes_to_a_sync() -> None:
    with Session(sample_target(own_loop), Recording(), beside=lambda _: nullcontext()) as session:
        line = Reader(session.recording).wait_for_hop("study.source", of="sync", whose="own")

    assert line["file"] == "study/test_command.py"
    assert "syncing(" in line["text"][line["line"] - line["first"]]


def test_each_button_works_for_a_controller_of_the_user() -> None:
    target = sample_target()
    with Session(target, Recording(), beside=lambda _: nullcontext()) as session:
        reader = Reader(session.recording)
        reader.see("index.update", of="Foo")
        names = [action.name for action in target.actions]
        assert names[:4] == ["create", "edit", "ten-edits", "delete"]
        for name in [*names[1:], "create"]:  # it exists at first
            session.act(name, "")
            reader.see("study.action", action=name)

        ten = reader.see("study.action", action="ten-edits")
        assert (ten["key"], ten["edits"]) == ("default/example-foo", 10)
        assert reader.see("study.action", action="edit")["message"] == "you edit Foo example-foo"


def test_a_target_needs_an_object_to_work_on() -> None:
    with pytest.raises(TargetError, match="hold no object"):
        own_target("sample", controller, [artifact("crd-status-subresource.yaml")])


def test_a_recording_is_written_as_one_page(tmp_path: Path) -> None:
    recording, page = tmp_path / "a.jsonl", tmp_path / "a.html"
    recording.write_text('{"hop": "queue.add", "at": 0.1, "of": "foos", "key": "default/x"}\n')

    assert main(["study", "--replay", str(recording), "--export", str(page)]) == 0

    assert '"key": "default/x"' in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--replay", "gone.jsonl"], "gone.jsonl can't be read: No such file"),
        (["--export", "a.html"], "--export needs --replay"),
        (
            ["--replay", str(ROOT / "docs/assets/study.jsonl"), "--export", "no/a.html"],
            "no/a.html can't be written: No such file",
        ),
        (["--manifest", "a.yaml"], "--manifest needs --target"),
        (["--target", "no.such:thing", "--manifest", "a.yaml"], "no.such cannot be imported"),
        (["--target", "sample_controller.controller:NAME"], "has no function 'NAME'"),
        (["--target", "sample_controller.demo:main"], "hold no object"),
    ],
)
def test_what_can_t_be_shown_is_said_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", *arguments]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("clientgo study: ")
    assert message in line
