"""New projects, and what is added to them."""

from __future__ import annotations

import ast
import importlib.util
import tomllib
from pathlib import Path

import pytest

from clientgo.codegen.crd import definitions_of
from clientgo.operator.errors import ConfigError
from clientgo.tools.scaffold.new_files import (
    FilesExistError,
    KindNames,
    create_api,
    create_webhook,
    init,
    plural_of,
)
from clientgo.tools.scaffold.project import Project, read_project


def _names(kind: str = "Demo", version: str = "v1alpha1") -> KindNames:
    return KindNames(kind=kind, group="demo.example.com", version=version)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    init(tmp_path, "my-demo", domain="example.com")
    return read_project(tmp_path)


def test_a_project_has_all_that_builds_runs_and_deploys_it(project: Project) -> None:
    """OP-GEN-23"""
    create_api(project, _names())
    root = project.root

    dockerfile = (root / "Dockerfile").read_text()
    assert "slim" in dockerfile
    assert "USER 65532:65532" in dockerfile
    assert 'ENTRYPOINT ["python", "-m", "my_demo"]' in dockerfile
    makefile = (root / "Makefile").read_text()
    for target in (
        "generate",
        "manifests",
        "install",
        "run",
        "docker-build",
        "docker-push",
        "deploy",
        "undeploy",
        "test",
    ):
        assert f"\n{target}:" in makefile, target
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["name"] == "my-demo"
    assert len((root / "my_demo/main.py").read_text().splitlines()) <= 30
    for file in root.rglob("*.py"):
        ast.parse(file.read_text())


def test_the_rules_of_a_new_kind_are_in_its_schema_before_they_are_in_code(
    project: Project,
) -> None:
    """BP-02, OP-GEN-05: an API server refuses what breaks them, whatever the operator does."""
    create_api(project, _names())
    (module,) = project.root.glob("my_demo/**/demo_v1alpha1.py")
    spec = importlib.util.spec_from_file_location("scaffolded_kind", module)
    assert spec is not None
    assert spec.loader is not None
    kinds = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kinds)
    (definition,) = definitions_of([kinds.Demo])
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    text = schema["properties"]["spec"]["properties"]["text"]
    assert (text["minLength"], text["maxLength"]) == (1, 1000)
    assert "text" in schema["properties"]["spec"]["required"]


def test_no_placeholder_is_left(project: Project) -> None:
    """OP-GEN-20"""
    create_api(project, _names())
    create_webhook(project, _names())

    for file in project.root.rglob("*"):
        if file.is_file():
            assert "{{" not in file.read_text(), file


def test_doing_it_again_changes_nothing(project: Project) -> None:
    """OP-GEN-20"""
    assert init(project.root, "my-demo", domain="example.com") == []


def test_an_edited_file_is_kept_and_nothing_else_is_written_either(project: Project) -> None:
    """OP-GEN-20"""
    makefile, dockerfile = project.root / "Makefile", project.root / "Dockerfile"
    makefile.write_text("mine")
    dockerfile.unlink()

    with pytest.raises(FilesExistError, match=r"Makefile: exists already.*--force"):
        init(project.root, "my-demo", domain="example.com")

    assert makefile.read_text() == "mine"
    assert not dockerfile.exists()


def test_with_force_it_is_overwritten(project: Project) -> None:
    """OP-GEN-20"""
    makefile = project.root / "Makefile"
    makefile.write_text("mine")

    assert init(project.root, "my-demo", domain="example.com", force=True) == ["wrote Makefile"]
    assert "undeploy" in makefile.read_text()


def test_a_kind_is_added_with_its_reconciler_and_registered(project: Project) -> None:
    """OP-GEN-20"""
    told = create_api(project, _names("Backup"))

    assert told == [
        "wrote my_demo/api/backup_v1alpha1.py",
        "wrote my_demo/controllers/backup.py",
        "wrote tests/test_backup.py",
        "changed my_demo/main.py: manager.register(BackupReconciler())",
    ]
    main = (project.root / "my_demo/main.py").read_text()
    assert "from my_demo.controllers.backup import BackupReconciler\n" in main
    assert "    manager.register(BackupReconciler())\n" in main


def test_what_was_written_into_main_stays_when_a_part_is_added(project: Project) -> None:
    """OP-GEN-20"""
    main = project.root / "my_demo/main.py"
    main.write_text(
        main.read_text().replace("    return manager", "    # mine\n    return manager")
    )

    create_api(project, _names("Backup"))

    assert "    # mine\n" in main.read_text()
    assert "BackupReconciler" in main.read_text()


def test_if_main_was_changed_the_lines_to_add_are_printed(project: Project) -> None:
    """OP-GEN-20"""
    main = project.root / "my_demo/main.py"
    main.write_text("mine")

    told = create_api(project, _names("Backup"))

    assert told[-3:] == [
        "add to my_demo/main.py:",
        "    from my_demo.controllers.backup import BackupReconciler",
        "    manager.register(BackupReconciler())",
    ]
    assert main.read_text() == "mine"


def test_creating_a_kind_again_changes_nothing(project: Project) -> None:
    """OP-GEN-20"""
    create_api(project, _names())

    assert create_api(project, _names()) == []


def test_webhooks_are_added_to_a_kind_that_there_is(project: Project) -> None:
    """OP-GEN-20"""
    with pytest.raises(ConfigError, match="create-api Demo"):
        create_webhook(project, _names())
    create_api(project, _names())

    told = create_webhook(project, _names())

    assert told[-1] == (
        "changed my_demo/main.py: manager.webhook(demo_webhooks.complete, demo_webhooks.check)"
    )


@pytest.mark.parametrize("name", ["Demo", "1st", "operator", "class", "clientgo", "a_b"])
def test_a_name_that_no_package_or_account_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        init(tmp_path, name, domain="example.com")


@pytest.mark.parametrize(
    ("bad", "what"),
    [({"kind": "demo"}, "kind"), ({"group": "demo"}, "group"), ({"version": "1"}, "version")],
)
def test_bad_names_of_kinds_are_refused(bad: dict[str, str], what: str) -> None:
    with pytest.raises(ConfigError, match=f"is not a {what}"):
        KindNames(**{"kind": "Demo", "group": "example.com"} | bad)


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Foo", "foos"),
        ("Ingress", "ingresses"),
        ("Policy", "policies"),
        ("Gateway", "gateways"),
        ("Box", "boxes"),
    ],
)
def test_a_plural_follows_from_a_kind(kind: str, plural: str) -> None:
    """OP-GEN-03"""
    assert plural_of(kind) == plural


def test_a_setting_that_there_is_not_is_named(project: Project) -> None:
    file = project.root / "operator.toml"
    file.write_text(file.read_text() + "replica = 2\n")

    with pytest.raises(ConfigError, match="replica"):
        read_project(project.root)


def test_a_directory_without_a_project_says_how_to_begin_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="clientgo operator init"):
        read_project(tmp_path)


@pytest.mark.parametrize("kind", ["Class", "For", "Is", "World", "Operator", "Pytest", "Match"])
def test_a_kind_may_have_a_name_that_python_uses_in_lower_case(project: Project, kind: str) -> None:
    create_api(project, _names(kind))
    create_webhook(project, _names(kind))

    for file in project.root.rglob("*.py"):
        tree = ast.parse(file.read_text())
        assert [name for name in bound_twice(tree)] == [], file  # noqa: C416


def bound_twice(tree: ast.Module) -> list[str]:
    """The names that a module imports or defines more than once."""
    names = [
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    names += [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return sorted({name for name in names if names.count(name) > 1})


def test_a_kind_cannot_have_a_name_that_its_files_use(project: Project) -> None:
    create_api(project, _names("Xyz"))
    create_webhook(project, _names("Xyz"))
    names = {
        node.id if isinstance(node, ast.Name) else node.name
        for file in project.root.rglob("*.py")
        if "xyz" in file.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Name | ast.alias)
    }

    for name in names | {"None", "True", "False"}:
        if name[0].isupper() and not name.startswith("Xyz"):
            with pytest.raises(ConfigError, match=f"a kind cannot have the name '{name}', which"):
                _names(name)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ({"kind": "foo"}, "'foo' is not a kind; write it like CronJob"),
        ({"kind": "2fa"}, "'2fa' is not a kind"),
        ({"kind": "Größe"}, "'Größe' is not a kind"),
        ({"kind": "__class__"}, "'__class__' is not a kind"),
        ({"kind": ""}, "'' is not a kind"),
        ({"kind": "A" * 64}, "has more than 63 characters"),
        ({"kind": "Demo\n"}, "is not a kind"),
        ({"plural": 'x") class'}, "is not a plural; write it like cronjobs"),
        ({"plural": "Demos"}, "'Demos' is not a plural"),
        ({"version": "latest"}, "'latest' is not a version; write it like v1alpha1"),
        ({"group": "nodots"}, "'nodots' is not a group; write it like batch.example.com"),
    ],
)
def test_names_that_cannot_be_are_refused(names: dict[str, str], problem: str) -> None:
    given = {"kind": "Demo", "group": "demo.example.com"} | names

    with pytest.raises(ConfigError) as caught:
        KindNames(**given)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "name", ["class", "json", "msgspec", "sre-parse", "tests", "My", "a--", "1a", "", "a/b", "a\n"]
)
def test_a_project_cannot_have_the_name_of_what_it_imports(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        init(tmp_path, name, domain="example.com")

    assert list(tmp_path.iterdir()) == []
