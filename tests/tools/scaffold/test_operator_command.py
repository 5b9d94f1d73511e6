"""``clientgo operator`` on files: init, create-api, create-webhook, gen, verify."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clientgo.__main__ import main
from tests.tools.scaffold.conftest import forget_modules, printed_by_tests


def _run(*arguments: str) -> int:
    return main(["operator", *arguments])


def test_a_new_project_is_complete(demo: Path) -> None:
    """OP-GEN-19, OP-GEN-20"""
    assert (demo / "config/crd/demos.demo.example.com.yaml").exists()
    assert _run("verify") == 0


def test_files_that_differ_from_the_code_are_shown_and_fail(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-19"""
    file = demo / "config/deploy/deployment.yaml"
    file.write_text(file.read_text().replace("replicas: 2", "replicas: 7"))
    (demo / "config/rbac/users.yaml").unlink()

    assert _run("verify") == 1

    shown = capsys.readouterr()
    assert "-  replicas: 7\n+  replicas: 2\n" in shown.out
    assert "+++ generated" in shown.out
    assert "+  name: demo.example.com-view" in shown.out
    assert "clientgo operator gen all" in shown.err


def test_generating_keeps_what_was_edited_unless_one_insists(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    file = demo / "config/deploy/deployment.yaml"
    file.write_text(file.read_text().replace("replicas: 2", "replicas: 7"))

    assert _run("gen", "all") == 0
    assert "kept deploy/deployment.yaml, which was edited" in capsys.readouterr().out
    assert "replicas: 7" in file.read_text()

    assert _run("gen", "deploy", "--force") == 0
    assert "replicas: 2" in file.read_text()


def test_options_of_the_command_come_before_the_file(demo: Path) -> None:
    """OP-GEN-17, OP-GEN-18: --image and --monitoring."""
    assert _run("gen", "deploy", "--image", "example.com/demo:2", "--monitoring") == 0

    assert "image: example.com/demo:2" in (demo / "config/deploy/deployment.yaml").read_text()
    assert (demo / "config/deploy/monitoring.yaml").exists()


def test_a_part_that_is_generated_alone_leaves_the_others(demo: Path) -> None:
    """OP-GEN-19"""
    deployment = demo / "config/deploy/deployment.yaml"
    deployment.unlink()

    assert _run("gen", "rbac") == 0

    assert not deployment.exists()


def test_init_in_a_folder_that_has_other_files_writes_nothing(
    in_empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    (in_empty_folder / "demo").mkdir()
    (in_empty_folder / "demo/Makefile").write_text("mine")

    assert _run("init", "demo") == 1

    assert "Makefile: exists already" in capsys.readouterr().err
    assert [file.name for file in (in_empty_folder / "demo").iterdir()] == ["Makefile"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Demo", "'Demo' is not a name for an operator; write it like my-operator"),
        ("Bad_Name", "'Bad_Name' is not a name for an operator"),
        ("click", "a Python package cannot have the name 'click'"),
        ("asyncio", "a Python package cannot have the name 'asyncio'"),
    ],
)
def test_a_name_that_a_project_cannot_have_is_refused(
    in_empty_folder: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20: by that name, and nothing is written."""
    assert _run("init", name) == 1

    assert said in capsys.readouterr().err
    assert list(in_empty_folder.iterdir()) == []


def test_what_is_wrong_is_one_line(
    in_empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("gen", "all") == 1
    assert _run("init", "Bad_Name") == 1

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("clientgo operator: ") for line in lines)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("text = Str", "NameError: name 'Str' is not defined"),
        ("text = = 1", "SyntaxError: invalid syntax"),
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"),
    ],
)
def test_a_module_of_types_that_cannot_be_imported_is_one_line_with_its_place(
    demo: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    """OP-GEN-19"""
    types = demo / "demo/api/demo_v1alpha1.py"
    docstring = '    """The desired state, written by users."""'
    types.write_text(types.read_text().replace(docstring, f"    {line}"))
    forget_modules(demo)
    capsys.readouterr()

    assert _run("gen", "all") == 1

    (only,) = capsys.readouterr().err.splitlines()
    assert "demo.api.demo_v1alpha1 cannot be imported: " + said in only
    assert f"{types}, line 13" in only


def test_an_annotation_with_an_unknown_name_is_one_line_with_its_class(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-19: CPython 3.14 evaluates annotations later, so there the import succeeds."""
    types = demo / "demo/api/demo_v1alpha1.py"
    first = "class DemoSpec(Model):"
    types.write_text(types.read_text().replace(first, f"{first}\n    text: Str"))
    forget_modules(demo)
    capsys.readouterr()

    assert _run("gen", "all") == 1

    (only,) = capsys.readouterr().err.splitlines()
    assert "name 'Str' is not defined" in only
    assert ("DemoSpec" if sys.version_info >= (3, 14) else str(types)) in only


_WITHOUT_NETWORK = """
import socket, sys, threading
class NoSocket(socket.socket):
    def __init__(self, *_, **__):
        raise AssertionError("a socket is opened")
socket.socket = NoSocket
before = set(threading.enumerate())
import demo.main, demo.controllers.demo, demo.webhooks.demo, demo.api.demo_v1alpha1
from clientgo.__main__ import main
assert main(["operator", *sys.argv[1:]]) == 0
started = set(threading.enumerate()) - before
assert not started, started
"""


def test_a_kind_a_version_and_webhooks_are_added_generated_and_tested(demo: Path) -> None:
    """OP-GEN-20, OP-GEN-25: with a new interpreter, which has neither network nor kubeconfig, and
    is left without another thread."""
    assert _run("create-api", "Backup") == 0
    assert _run("create-webhook", "Demo") == 0
    assert _run("create-api", "Backup", "--version", "v1") == 0
    environment = os.environ | {"KUBECONFIG": "/nowhere", "PYTHONPATH": os.pathsep.join(sys.path)}

    for part in ("all", "rbac"):
        done = subprocess.run(
            [sys.executable, "-c", _WITHOUT_NETWORK, "gen", part],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")

    definition = yaml.safe_load((demo / "config/crd/backups.demo.example.com.yaml").read_text())
    assert [v["name"] for v in definition["spec"]["versions"] if v["storage"]] == ["v1alpha1"]
    configurations = yaml.safe_load_all((demo / "config/webhooks/configurations.yaml").read_text())
    assert [c["kind"] for c in configurations] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    roles = (demo / "config/rbac/operator.yaml").read_text()
    assert "backups/status" in roles


def test_webhooks_of_a_kind_with_other_fields_come_with_tests_that_pass(demo: Path) -> None:
    """OP-GEN-20: the fields of the template are gone when webhooks are added."""
    file = demo / "demo/api/demo_v1alpha1.py"
    file.write_text(file.read_text().replace("    text: Annotated", "    words: Annotated"))

    assert _run("create-webhook", "Demo") == 0

    assert "3 passed" in printed_by_tests("tests/test_demo_webhook.py")


def test_a_server_in_memory_has_pods_that_start_if_asked_for(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21: the sample is reconciled when there are nodes, as for an operator of pods."""
    file = demo / "demo" / "controllers" / "demo.py"
    text = file.read_text()
    text = text.replace('"Ready", True,', '"Ready", bool(ctx.client.live.list(Node)),')
    text = text.replace("return Result.status(obj)", "return Result.status(obj).after(1)")
    file.write_text(text.replace("import ConfigMap", "import ConfigMap, Node"))
    run = ["operator", "run", "--embedded", "--once", "--timeout", "60"]

    assert main([*run, "--workloads"]) == 0
    assert "reconciled." in capsys.readouterr().out


def test_where_no_pod_starts_a_run_that_waits_for_one_says_so(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21: only if there are pods to start."""
    run = ["operator", "run", "--embedded", "--once", "--timeout", "0.3"]
    file = demo / "demo" / "controllers" / "demo.py"
    text = file.read_text().replace('"Ready", True,', '"Ready", False,')
    file.write_text(text)
    forget_modules(demo)
    assert main(run) == 1
    assert "--workloads" not in capsys.readouterr().err

    pod = """
        pod = Pod(
            metadata=ObjectMeta(name="a", namespace="default"),
            spec=PodSpec(containers=[Container(name="a", image="a")]),
        )
        ctx.client.live.find(Pod, "a", "default") or ctx.client.create(pod)
        return Result.status(obj)"""
    text = text.replace("import ConfigMap", "import ConfigMap, Container, Pod, PodSpec")
    file.write_text(text.replace("        return Result.status(obj)", pod.lstrip("\n")))
    forget_modules(demo)
    assert main(run) == 1
    assert "no pod starts here: --workloads simulates them" in capsys.readouterr().err


def test_workloads_are_simulated_only_beside_the_server_in_memory(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["operator", "run", "--workloads"]) == 1
    assert "--workloads needs --embedded" in capsys.readouterr().err
