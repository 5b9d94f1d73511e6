"""Every code block of the documentation runs, or is what it is said to be.

``tests/docs/pages.py`` says how a block is marked.
"""

from __future__ import annotations

import ast
import codeop
import importlib.util
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from clientgo.__main__ import main
from tests.docs.pages import ROOT, Block, blocks_of, pages
from tests.docs.running import comparable, run_page, runs

BLOCKS = [block for page in pages() for block in blocks_of(page)]
PYTHON = [block for block in BLOCKS if block.language == "python"]
COMMANDS = [block for block in BLOCKS if block.language in ("sh", "console")]

OTHER_LANGUAGES = {"go", "java", "csv", "text", "promql", "dockerfile", "diff", "cel", "ini"}
"""Languages that nothing here can check; ``text`` is for pictures and for output."""

MARKS = ("", "fragment", "output", "pytest", "run")


def _id(block: Block) -> str:
    return block.place


def test_every_block_names_its_language_and_has_a_known_mark() -> None:
    checked = {"python", "sh", "console", "yaml", "json", "toml"} | OTHER_LANGUAGES
    unknown = [block.place for block in BLOCKS if block.language not in checked]
    wrong = [
        f"{block.place}: {block.mark}"
        for block in BLOCKS
        if block.mark not in MARKS and not re.match(r"source \S+$|not run: ", block.mark)
    ]

    assert unknown == []
    assert wrong == []


@pytest.mark.parametrize(
    "page",
    [page for page in pages() if any(runs(block) for block in blocks_of(page))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_does_what_it_says(page: Path) -> None:
    for block, printed in run_page(page):
        assert comparable(block.code) == comparable(printed), block.place


TYPED = ("docs/concepts/", "docs/library/", "docs/start/", "docs/walkthrough/")
"""Where readers are told to type the code into a Python prompt. Other pages are for files."""


@pytest.mark.parametrize(
    "block", [block for block in PYTHON if runs(block) and block.page.startswith(TYPED)], ids=_id
)
def test_code_can_be_typed_into_a_prompt(block: Block) -> None:
    """A prompt ends a block at an empty line, and needs one to end it."""
    statement: list[str] = []
    for number, line in enumerate([*block.code.splitlines(), ""], start=1):
        statement.append(line)
        try:
            if codeop.compile_command("\n".join(statement), symbol="single") is not None:
                statement = []
        except SyntaxError as error:
            pytest.fail(
                f"{block.page}:{block.line + number}: {error}: {line}: put an empty line before "
                "it if a block ends there, and none inside of a block"
            )
    assert "".join(statement) == ""


def test_concepts_are_shown_with_an_api_server() -> None:
    """A source of a test shows less: no discovery, no definitions, no real versions."""
    fakes = [b.place for b in PYTHON if "docs/concepts/" in b.page and "fake_source" in b.code]

    assert fakes == []


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if block.mark.startswith("source ")], ids=_id
)
def test_an_excerpt_is_in_its_file(block: Block) -> None:
    source = _lines((ROOT / block.mark.removeprefix("source ")).read_text())

    for part in re.split(r"^ *\.\.\.\n", block.code, flags=re.MULTILINE):
        assert _lines(part) in source, block.place


def _lines(text: str) -> str:
    """The lines without their indentation, which an excerpt may leave out."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def test_what_is_not_run_is_python() -> None:
    for block in PYTHON:
        if not runs(block) and not block.mark.startswith("source "):
            try:
                ast.parse(textwrap.dedent(block.code))
            except SyntaxError as error:
                pytest.fail(f"{block.place}: {error}")


def test_data_can_be_read() -> None:
    readers = {"yaml": lambda text: list(yaml.safe_load_all(text)), "json": json.loads}
    readers["toml"] = tomllib.loads
    for block in BLOCKS:
        if reader := readers.get(block.language):
            try:
                reader(block.code)
            except ValueError as error:
                pytest.fail(f"{block.place}: {error}")


TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _commands(block: Block) -> list[str]:
    """The commands of a block, without comments and here-documents."""
    text = re.sub(r"<<'?EOF'?.*?^EOF$", "", block.code, flags=re.DOTALL | re.MULTILINE)
    text = text.replace("\\\n", " ")
    lines = text.splitlines()
    if block.language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    commands: list[str] = []
    for line in (line for line in lines if line.strip()):
        if commands and commands[-1].count("'") % 2:
            commands[-1] += f"\n{line}"  # a quoted text that goes on
        else:
            commands.append(re.sub(r" #.*|   .*", "", line).strip())
    return [command for command in commands if not command.startswith("#")]


def test_commands_name_what_exists(capsys: pytest.CaptureFixture[str]) -> None:
    for block in COMMANDS:
        for command in _commands(block):
            for words in _programs(command):
                assert _exists(words), f"{block.place}: {' '.join(words)}"
    capsys.readouterr()


def _programs(command: str) -> list[list[str]]:
    """The words of each program that a command line starts, without variables."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if word == "--" or not set(word) - set("();<>|&"):
            found.append([])
        elif found[-1] or not re.match(r"[A-Z_]+=", word):
            found[-1].append(word)
    return [words for words in found if words]


def _exists(words: list[str]) -> bool:
    program, *arguments = (word.removeprefix(".venv/bin/") for word in words)
    if program == "make":
        return all(each in TARGETS for each in arguments if re.fullmatch("[a-z-]+", each))
    if program == "python" and arguments[:1] == ["-m"]:
        return importlib.util.find_spec(arguments[1]) is not None
    if program == "python" and arguments and arguments[0].endswith(".py"):
        return (ROOT / arguments[0]).is_file()
    if program == "clientgo":
        return _is_a_command(arguments)
    return True


def _is_a_command(arguments: list[str]) -> bool:
    """Return True if ``clientgo`` has this command: its help can be shown."""
    known = list(itertools.takewhile(lambda word: re.fullmatch(r"[a-z][a-z-]*", word), arguments))
    try:
        main([*known, "--help"])
    except SystemExit as end:
        return not end.code
    return not known


def _named_in_text() -> Iterator[tuple[str, str]]:
    """The commands that pages, docstrings and comments name, with their files."""
    sources = [
        file for folder in ("clientgo", "examples") for file in (ROOT / folder).rglob("*.py")
    ]
    for file in [*pages(), *sources]:
        for found in re.finditer(r"`clientgo ([a-z][^`]*)`", file.read_text(encoding="utf-8")):
            yield str(file.relative_to(ROOT)), found[1]


def test_commands_in_text_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for place, command in _named_in_text():
        assert _is_a_command(command.split()), f"{place}: clientgo {command}"
    capsys.readouterr()


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.mark == "run"], ids=_id)
def test_commands_print_what_is_shown(block: Block, tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        command = command.replace("/tmp/", f"{tmp_path}/")
        run = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        printed = (run.stdout + run.stderr).replace(f"{tmp_path}/", "/tmp/")
        assert comparable(printed) == comparable(shown), f"{block.place}: {command}"
