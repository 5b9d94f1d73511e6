"""A program for 0.1 gets the import paths of 0.2 by a command."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from clientgo.tools.rewrite_imports import MOVED, main, missing, new_path, rewritten
from clientgo.util.extras import MissingExtraError

ROOT = Path(__file__).parents[2]

OLD = dedent('''
    """Greets; see clientgo.wait.until."""
    import clientgo.trace
    import clientgo.apiserver as server
    from clientgo import apiserver, logs
    from clientgo.api.core_v1 import ConfigMap
    from clientgo.certificates import KeyPair, ServingCertificate as Served
    from clientgo.wait import (
        setup_signal_handler,  # SIGTERM too
        until,
    )
    from .clientgo.wait import other

    def test_é(monkeypatch):
        from clientgo.operator.sources import poll, watch
        monkeypatch.setattr("clientgo.flowcontrol.TokenBucket", clientgo.trace.Tracer)
''')

NEW = dedent('''
    """Greets; see clientgo.util.wait.until."""
    import clientgo.observe.trace
    import clientgo.testcluster.server as server
    from clientgo.testcluster import server as apiserver
    from clientgo.observe import logs
    from clientgo.api.core_v1 import ConfigMap
    from clientgo.util.certificates import KeyPair
    from clientgo.observe.serving import ServingCertificate as Served
    from clientgo.util.wait import (
        setup_signal_handler,  # SIGTERM too
        until,
    )
    from .clientgo.wait import other

    def test_é(monkeypatch):
        from clientgo.operator.addons.polling import poll
        from clientgo.operator.sources import watch
        monkeypatch.setattr("clientgo.util.flowcontrol.TokenBucket", clientgo.observe.trace.Tracer)
''')


def test_only_paths_change() -> None:
    assert rewritten(OLD) == NEW


def test_a_second_run_changes_nothing() -> None:
    assert rewritten(NEW) == NEW
    assert [new for new in MOVED.values() if new_path(new) != new] == []


def test_every_public_name_of_0_1_has_a_path_or_is_listed_as_removed() -> None:
    exported = json.loads((ROOT / "tests/data/upgrades/exports-0.1.json").read_text())
    page = (ROOT / "docs/production/upgrades.md").read_text()
    rows = page.partition("## Names that are gone")[2].splitlines()
    removed = {name for row in rows for name in re.findall(r"`(\w+)`", row.rpartition(" | ")[0])}
    lost = {f"{package}.{name}" for package, names in exported.items() for name in names}

    for path in sorted(lost):
        module, _, name = new_path(path).rpartition(".")
        if hasattr(importlib.import_module(module), name):
            lost.remove(path)
    assert {path.rpartition(".")[2] for path in lost} == removed


def test_a_directory_is_rewritten_and_what_is_gone_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "new.py").write_text("from clientgo.cache import Indexer\n")
    (tmp_path / "broken.py").write_text("import (\n")
    old = tmp_path / "package" / "old.py"
    old.write_text("import os\nfrom clientgo.wait import delay_until, until\n")

    assert main([str(tmp_path), "--check"]) == 1
    assert old.read_text() == "import os\nfrom clientgo.wait import delay_until, until\n"
    assert f"would rewrite {old}\n" in capsys.readouterr().out

    assert main([str(tmp_path)]) == 1
    assert old.read_text() == "import os\nfrom clientgo.util.wait import delay_until, until\n"
    printed = capsys.readouterr()
    assert printed.out == f"rewrote {old}\n"
    assert printed.err.splitlines() == [
        f"{tmp_path}/broken.py:1: is no Python: invalid syntax",
        f"{old}:2: there is no clientgo.util.wait.delay_until any more: see the changelog",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from clientgo.wait import until\r\nx = 1\r\n",
         "from clientgo.util.wait import until\r\nx = 1\r\n"),
        ("from clientgo import wait, cache\r\n",
         "from clientgo.util import wait\r\nfrom clientgo import cache\r\n"),
        ("\ufeffimport clientgo.wait\n", "\ufeffimport clientgo.util.wait\n"),
        ("if 1:\n\tfrom clientgo import wait, cache\n",
         "if 1:\n\tfrom clientgo.util import wait\n\tfrom clientgo import cache\n"),
        ("if 1: from clientgo import wait, cache\n",
         "if 1: from clientgo.util import wait; from clientgo import cache\n"),
        ("if 1:\n    from clientgo.operator.sources import "
         "PerResourcePollingSource as EachIsPolled, PollingSource as Polled, watch\n",
         "if 1:\n    from clientgo.operator.addons.polling import (\n"
         "        PerResourcePollingSource as EachIsPolled,\n"
         "        PollingSource as Polled,\n    )\n"
         "    from clientgo.operator.sources import watch\n"),
    ],
    ids=["line ends", "new line ends", "byte order mark", "tab", "one line", "a long line"],
)  # fmt: skip
def test_what_is_around_a_path_stays(tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(old.encode())
    assert main([str(file)]) == 0
    assert file.read_bytes().decode() == new


def test_a_name_that_needs_an_extra_which_is_not_installed_is_not_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def needs_an_extra(name: str) -> None:
        raise MissingExtraError(name)

    monkeypatch.setattr(importlib, "import_module", needs_an_extra)
    assert list(missing("from clientgo.testcluster.server import EmbeddedAPIServer\n")) == []


def test_another_encoding_stays(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_bytes(b"# coding: latin-1\nimport clientgo.wait  # \xe9\n")
    assert main([str(file)]) == 0
    assert file.read_bytes() == b"# coding: latin-1\nimport clientgo.util.wait  # \xe9\n"


def test_a_file_that_cannot_be_read_does_not_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "a.py"
    wrong.write_bytes(b"\n\n\nx = '\xe9'\n")
    (tmp_path / "b.py").write_text("import clientgo.wait\n")
    assert main([str(tmp_path), str(tmp_path / "missing.py")]) == 1
    printed = capsys.readouterr()
    assert printed.out == f"rewrote {tmp_path}/b.py\n"
    assert [line.partition(":")[0] for line in printed.err.splitlines()] == [
        f"{wrong}",
        f"{tmp_path}/missing.py",
    ]


def test_an_old_program_runs_after_the_command(tmp_path: Path) -> None:
    """It is the first controller's parts, as they were imported in 0.1."""
    program = tmp_path / "program.py"
    program.write_text(
        "from clientgo.cache import Indexer\n"
        "from clientgo.clock import REAL_CLOCK\n"
        "from clientgo.trace import Tracer\n"
        "from clientgo.wait import setup_signal_handler\n"
        "print(REAL_CLOCK.monotonic() > 0, setup_signal_handler().is_set())\n"
    )
    before = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert main([str(program)]) == 0
    after = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)

    assert "No module named 'clientgo.clock'" in before.stderr
    assert after.stdout == "True False\n", after.stderr
