"""``clientgo gen`` from a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.__main__ import main
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.manifests import manifest_text
from clientgo.meta import Codec, ObjectMeta
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from sample_controller.types import Foo
from tests.codegen.loading import load

_TYPES = "sample_controller.types"


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    file = tmp_path / "crd.yaml"
    file.write_text(manifest_text([custom_resource_definition(Foo)]))
    return file


def test_types_of_a_definition_are_written_to_a_file(crd: Path, tmp_path: Path) -> None:
    out = tmp_path / "new/foo.py"

    assert main(["gen", "types", "--crd", str(crd), "--out", str(out)]) == 0

    (kind,) = load(out.read_text()).RESOURCES
    assert (
        custom_resource_definition(kind)["metadata"] == yaml.safe_load(crd.read_text())["metadata"]
    )


_AMBIGUOUS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Foo, plural: foos}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            default: {}
            properties:
              operator: {type: string, enum: [=, "!=", <<], default: =}
              day: {type: string, format: date, default: 2024-01-02}
              instant: {type: string, format: date-time, default: 2024-01-02T03:04:05Z}
              clock: {type: string, default: 12:30}
              most: {type: integer, enum: [1e3, 0o17], default: 1e3}
              text: {type: string, enum: ["1e3", "y", "2024-01-02"], default: "1e3"}
              days: {type: object, additionalProperties: {type: string}, default: {a: 2024-01-02}}
"""


def test_a_definition_is_read_as_kubernetes_reads_it(tmp_path: Path) -> None:
    """Dates and times of day are text, ``=`` is text, and ``1e3`` is a number."""
    (tmp_path / "crd.yaml").write_text(_AMBIGUOUS)
    out = tmp_path / "foo.py"

    assert main(["gen", "types", "--crd", str(tmp_path / "crd.yaml"), "--out", str(out)]) == 0

    (kind,) = load(out.read_text()).RESOURCES
    defaults = Codec(kind).decode(b"{}").spec
    assert (defaults.operator, defaults.day, defaults.clock) == ("=", "2024-01-02", "12:30")
    assert (defaults.instant, defaults.most, defaults.text) == ("2024-01-02T03:04:05Z", 1000, "1e3")
    (version,) = custom_resource_definition(kind)["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert fields["operator"]["enum"] == ["=", "!=", "<<"]
    assert fields["most"]["enum"] == [1000, 15]
    assert fields["text"]["enum"] == ["1e3", "y", "2024-01-02"]
    assert fields["days"]["default"] == {"a": "2024-01-02"}


def test_without_a_file_the_types_are_printed(
    crd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gen", "types", "--crd", str(crd)]) == 0

    assert "class FooSpec(APIModel):" in capsys.readouterr().out


def test_clients_are_laid_out_without_ruff(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)

    assert main(["gen", "clients", _TYPES, "--out", str(tmp_path)]) == 0

    texts = [file.read_text() for file in tmp_path.iterdir()]
    assert texts
    assert not [text for text in texts if "\n" * 4 in text]


def test_definitions_and_roles_and_clients_are_written(tmp_path: Path) -> None:
    for part, out in (("crd", "crd.yaml"), ("rbac", "roles.yaml"), ("clients", "clients")):
        assert main(["gen", part, _TYPES, "--out", str(tmp_path / out)]) == 0

    assert yaml.safe_load((tmp_path / "crd.yaml").read_text()) == custom_resource_definition(Foo)
    roles = list(yaml.safe_load_all((tmp_path / "roles.yaml").read_text()))
    assert [role["kind"] for role in roles] == ["ClusterRole", "ClusterRole"]
    assert {file.name for file in (tmp_path / "clients").iterdir()} == {
        "__init__.py",
        "clientset.py",
        "fake.py",
        "informers.py",
        "listers.py",
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with EmbeddedAPIServer() as server:
        kubeconfig = str(server.kubeconfig)
        with Client(load_config(kubeconfig)) as client:
            client.resource(CustomResourceDefinition).create(custom_resource_definition(Foo))
        yield kubeconfig


def test_types_of_a_definition_in_a_cluster(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "foos.samplecontroller.k8s.io"

    assert main(["gen", "types", "--cluster", name, "--kubeconfig", cluster]) == 0

    assert "replicas: Annotated[int, Meta(ge=1, le=10)] | None = None" in capsys.readouterr().out


def _read_types(version: str, cluster: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["gen", "types", "--cluster", version, "--kubeconfig", cluster]) == 0
    return load(capsys.readouterr().out)


def test_types_of_a_version_that_a_cluster_describes(
    cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its OpenAPI document, whether built in or defined."""
    core = _read_types("v1", cluster, capsys)
    apps = _read_types("apps/v1", cluster, capsys)
    sample = _read_types("samplecontroller.k8s.io/v1alpha1", cluster, capsys)
    with Client(load_config(cluster)) as client:
        config_maps = client.resource(core.ConfigMap).namespace("default")
        foos = client.resource(sample.Foo).namespace("default")

        config_map = config_maps.create(
            core.ConfigMap(metadata=ObjectMeta(name="a"), data={"b": "c"})
        )
        foo = foos.create(
            sample.Foo(
                metadata=ObjectMeta(name="a"), spec=sample.FooSpec(deployment_name="d", replicas=2)
            )
        )

        assert config_map.data == {"b": "c"}
        assert foo.spec.replicas == 2
        assert client.resource(apps.Deployment).list().items == []


def test_some_of_the_kinds_of_a_version(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--cluster", "apps/v1", "--kind", "Deployment", "--kubeconfig", cluster]

    assert main(["gen", "types", *arguments]) == 0

    (kind,) = load(capsys.readouterr().out).RESOURCES
    assert kind.__name__ == "Deployment"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["types", "--crd", "nowhere.yaml"], "nowhere.yaml"),
        (["types", "--crd", "{crd}", "--version", "v9"], "has no version 'v9'; it has v1alpha1"),
        (["types", "--crd", "{example}"], "is a samplecontroller.k8s.io/v1alpha1 Foo"),
        (["types", "--crd", "{broken}"], "is no YAML"),
        (["types", "--crd", "{empty}"], "holds no manifest"),
        (["types", "--openapi", "{crd}"], "no OpenAPI v3 document"),
        (["types", "--cluster", "bars.e.com", "--kubeconfig", "{cluster}"], "kubectl get crds"),
        (["types", "--cluster", "e.com/v1", "--kubeconfig", "{cluster}"], "kubectl api-versions"),
        (["types", "--cluster", "v9", "--kubeconfig", "{cluster}"], "kubectl api-versions"),
        (["types", "--cluster", "e.com/v1", "--kubeconfig", "nowhere"], "no such kubeconfig"),
        (["crd", "clientgo.meta.decoding"], "declares no kind; decorate a class"),
        (["crd", "no.such.module"], "No module named 'no'"),
        (["crd", "my_project/types.py"], "; name the module: my_project.types\n"),
        (["crd", "sample_controller.types", "--out", "{crd}/a"], "{crd}: file exists\n"),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    arguments: list[str],
    told: str,
    crd: Path,
    tmp_path: Path,
    cluster: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken").write_text("a: [")
    (tmp_path / "empty").write_text("")
    places = {
        "crd": crd,
        "cluster": cluster,
        "broken": tmp_path / "broken",
        "empty": tmp_path / "empty",
        "example": Path(__file__).parents[2] / "sample_controller/artifacts/example-foo.yaml",
    }

    assert main(["gen", *(argument.format(**places) for argument in arguments)]) == 1

    error = capsys.readouterr().err
    assert error.startswith("clientgo gen: ")
    assert told.format(**places) in error
