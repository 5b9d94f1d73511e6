"""What a user gets with ``pip install clientgo``, without and with each extra."""

from __future__ import annotations

import signal
import tomllib
import zipfile
from pathlib import Path

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.packaging.installed import ROOT, Installed, build_wheel, files_of


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Without extras; with pytest, which brings none of what an extra brings."""
    installed = Installed(tmp_path_factory.mktemp("plain") / "venv")
    installed.install(wheel)
    installed.add_distribution("pytest")
    return installed


def test_the_wheel_installs_clientgo_and_its_sample_at_the_top(plain: Installed) -> None:
    """``clientgo study`` shows the sample; ``examples`` are read in the repository."""
    done = plain.run(
        "-c",
        "from importlib.metadata import files\n"
        "print(sorted({f.parts[0] for f in files('clientgo') if '..' not in f.parts}))",
    )

    names = eval(done.stdout)
    found = [name for name in names if not name.endswith(".dist-info")]
    assert found == ["clientgo", "sample_controller"], done.stderr


def test_the_page_about_installing_names_this_wheel(wheel: Path) -> None:
    assert f"/{wheel.name}[" in (ROOT / "docs/start/install.md").read_text()


def test_every_public_name_can_be_imported_or_says_which_extra_it_needs(plain: Installed) -> None:
    """Without extras."""
    program = """
import importlib, pkgutil, clientgo
from clientgo.util.extras import MissingExtraError

for module in pkgutil.walk_packages(clientgo.__path__, "clientgo."):
    if not module.ispkg:
        continue
    try:
        package = importlib.import_module(module.name)
        for name in getattr(package, "__all__", ()):
            getattr(package, name)
    except MissingExtraError as error:
        print(module.name, error)
    except ModuleNotFoundError as error:
        if module.name.count(".") == 1:
            print(module.name, "UNEXPLAINED", error)
"""
    done = plain.run("-c", program)

    assert done.returncode == 0, done.stderr
    assert "UNEXPLAINED" not in done.stdout
    assert "clientgo.testcluster.server the embedded API server needs the package" in done.stdout
    assert len(done.stdout.splitlines()) < 10, done.stdout


def test_the_first_controller_runs_without_any_extra(plain: Installed) -> None:
    """Against an API server in another environment, over TLS, with a token of a kubeconfig."""
    example = (ROOT / "examples" / "first_controller.py").read_text()
    (plain.directory / "first_controller.py").write_text(example)
    with EmbeddedAPIServer(secure=True) as server, Client(str(server.kubeconfig)) as client:
        config_maps = client.resource(ConfigMap).namespace("default")
        config_maps.create(ConfigMap(metadata=ObjectMeta(name="world", labels={"greet": "yes"})))
        with plain.started("first_controller.py", KUBECONFIG=str(server.kubeconfig)) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "greeted default/world\n"
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=30) == 0
        assert config_maps.get("world").data == {"hello": "from default/world"}


def test_a_bare_installation_has_three_packages_and_imports_none_early(plain: Installed) -> None:
    program = """
import sys, clientgo.workqueue
early = {"yaml", "urllib3", "ssl", "socket", "http.client"} & {*sys.modules}
import re, importlib.metadata
needed = [text for text in importlib.metadata.requires("clientgo") if "extra ==" not in text]
print(sorted(early), sorted(re.match("[a-z0-9]+", text)[0] for text in needed))
"""
    done = plain.run("-c", program)

    names = "['msgspec', 'pyyaml', 'urllib3']"
    assert done.stdout == f"[] {names}\n", done.stderr


def test_a_bare_installation_takes_at_most_25_megabytes(wheel: Path) -> None:
    """An estimate, a fifth below what docs/evidence/dependencies.md has measured."""
    with zipfile.ZipFile(wheel) as files:
        own = sum(2 * file.file_size for file in files.infolist())
    packed = [file for name in ("msgspec", "pyyaml", "urllib3") for file in files_of(name)]
    needed = sum(file.stat().st_size for file in packed if file.exists())

    assert own > 5e6
    assert needed > 1e6
    assert own + needed < 20e6


@pytest.mark.parametrize(
    ("statement", "extra"),
    [
        ("from clientgo.testcluster.server import EmbeddedAPIServer", "apiserver"),
        ("import clientgo.observe.metrics.prometheus", "metrics"),
        ("import clientgo.observe.serving.metrics", "metrics"),
        ("import clientgo.observe.trace.otel", "otel"),
        (
            "from clientgo.util.certificates import make_authority\n"
            "make_authority('a', now=0.0, lifetime=1.0)",
            "operator",
        ),
        (
            "from clientgo.util.text.go_regexp import compile_go_regexp; compile_go_regexp('a+')",
            "schema",
        ),
    ],
)
def test_code_that_needs_an_extra_says_which_and_works_with_it(
    statement: str, extra: str, plain: Installed, extended: dict[str, Installed]
) -> None:
    without, with_it = plain.run("-c", statement), extended[extra].run("-c", statement)

    assert f"pip install 'clientgo[{extra}]'" in without.stderr.splitlines()[-1]
    assert with_it.returncode == 0, with_it.stderr


def test_commands_that_need_an_extra_say_which_in_one_line(plain: Installed) -> None:
    done = plain.command("apiserver", "--listen", "127.0.0.1:0")

    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("clientgo: the embedded API server needs the package ")
    assert line.endswith("pip install 'clientgo[apiserver]'")


def test_commands_that_need_no_extra_work_without_any(plain: Installed) -> None:
    assert plain.command("--help").returncode == 0
    made = plain.command("operator", "init", "demo", "--force")
    assert made.returncode == 0, made.stderr
    ran = plain.command("operator", "run", "--embedded", "--project", "demo")

    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].endswith("pip install 'clientgo[apiserver]'"), ran.stderr


def test_fixtures_that_need_an_extra_say_which(plain: Installed) -> None:
    fixtures = {
        "kube_api_server": "apiserver",
        "kube_client": "apiserver",
        "workloads": "apiserver",
        "fake_cluster": "apiserver",
        "operator_metrics": "metrics",
    }
    tests = "".join(f"def test_{name}({name}): pass\n" for name in fixtures)
    (plain.directory / "test_fixtures.py").write_text(
        tests + "def test_logs(operator_logs): pass\n"
    )
    done = plain.run("-m", "pytest", "-q", "-rE", "-p", "no:cacheprovider", "test_fixtures.py")

    said = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    for extra in fixtures.values():
        assert any(f"pip install 'clientgo[{extra}]'" in line for line in said), done.stdout
    assert f"1 passed, {len(fixtures)} errors" in done.stdout


@pytest.fixture(scope="module")
def extended(plain: Installed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Installed]:
    """One environment for each extra, and nothing else in it."""
    made = {}
    for extra in ("apiserver", "kubernetes", "metrics", "operator", "otel", "schema", "stream"):
        made[extra] = Installed(tmp_path_factory.mktemp(extra) / "venv", extra)
        made[extra].install_as(plain)
    return made


def test_the_api_server_runs_a_command_with_its_extra(extended: dict[str, Installed]) -> None:
    installed = extended["apiserver"]
    program = (
        "from clientgo.api.core_v1 import Namespace; from clientgo.client import Client\n"
        "with Client() as client: print(client.resource(Namespace).get('default').metadata.name)"
    )
    done = installed.run("-m", "clientgo", "apiserver", "--", str(installed.python), "-c", program)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "default"


def test_the_study_page_is_in_the_wheel(extended: dict[str, Installed]) -> None:
    installed = extended["apiserver"]
    (installed.directory / "hop.jsonl").write_text('{"hop": "queue.add", "at": 0.1}\n')

    files = ("--replay", "hop.jsonl", "--export", "page.html")
    done = installed.run("-m", "clientgo", "study", *files)

    assert done.returncode == 0, done.stderr
    assert "Study.model" in (installed.directory / "page.html").read_text()


def test_the_study_shows_the_sample_that_is_in_the_wheel(extended: dict[str, Installed]) -> None:
    program = """
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import Session
from clientgo.tools.study.target import foo_target

with Session(foo_target(), Recording()) as session:
    print(session.act("scale", "").message)
"""
    done = extended["apiserver"].run("-c", program)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["you scale Foo foo-1 to 2 replicas"]


def test_streams_need_their_extra_alone(plain: Installed, extended: dict[str, Installed]) -> None:
    program = (
        "from clientgo.api.core_v1 import Pod; from clientgo.client import Client\n"
        "pods = Client('http://127.0.0.1:1').resource(Pod).namespace('default')\n"
        "try: pods.exec('a', ['b'])\n"
        "except Exception as error: print(error)"
    )
    without = plain.run("-c", program).stdout
    assert without == (
        "a stream to a pod needs the package websockets: pip install 'clientgo[stream]'\n"
    )
    assert "connection refused" in extended["stream"].run("-c", program).stdout


def test_every_extra_is_tried_here(extended: dict[str, Installed]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == set(extended)
