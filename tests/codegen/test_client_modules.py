"""Typed clientsets, informers and listers of a project's kinds."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Namespace, Pod
from clientgo.codegen.client_modules import client_modules
from clientgo.informers import SharedInformerFactory
from clientgo.meta import Model, ObjectMeta, Resource, resource
from clientgo.testing.fake_client import FakeClient
from sample_controller.generated import Clientset, Informers, Listers
from sample_controller.generated.fake import FakeClientset
from sample_controller.types import Foo, FooSpec
from tests.codegen.loading import load


def _foo(name: str) -> Foo:
    return Foo(metadata=ObjectMeta(name=name, namespace="default"), spec=FooSpec())


def test_a_clientset_reads_and_writes_the_objects_of_a_namespace() -> None:
    clientset = Clientset(FakeClient(_foo("a")))
    foos = clientset.samplecontroller_v1alpha1.foos("default")

    created = foos.create(_foo("b"))

    assert created.metadata.namespace == "default"
    assert [foo.metadata.name for foo in foos.list().items] == ["a", "b"]


def test_a_clientset_without_a_namespace_looks_into_all() -> None:
    elsewhere = Foo(metadata=ObjectMeta(name="b", namespace="other"))
    clientset = FakeClientset(_foo("a"), elsewhere)

    assert len(clientset.samplecontroller_v1alpha1.foos().list().items) == 2


def test_a_fake_clientset_remembers_what_it_was_asked() -> None:
    clientset = FakeClientset(_foo("a"))

    clientset.samplecontroller_v1alpha1.foos("default").delete("a")

    assert [str(action) for action in clientset.client.actions()] == ["delete foos default/a"]


def test_informers_and_listers_share_the_cache_of_the_factory() -> None:
    stop = threading.Event()
    with SharedInformerFactory(FakeClient(_foo("a"))) as factory:
        informers, listers = Informers(factory), Listers(factory)
        foos = informers.samplecontroller.v1alpha1.foos
        factory.start(stop)
        factory.wait_for_cache_sync(stop)

        assert informers.samplecontroller.v1alpha1.foos.informer is foos.informer
        assert factory.informer_for(Foo) is foos.informer
        by_lister = listers.samplecontroller.v1alpha1.foos.namespace("default").get("a")
        assert foos.lister.namespace("default").get("a") is by_lister


def test_names_that_two_kinds_or_groups_share_are_told_apart() -> None:
    modules = client_modules([_Client, _GatewayV1, _GatewayV2, _OtherGateway])

    clientset, informers = modules["clientset"], modules["informers"]

    assert "self.gateway_example_com_v1 = " in clientset
    assert "self.gateway_other_org_v1 = " in clientset
    assert "ResourceClient[GatewayExampleComV1Client]" in clientset
    assert " as GatewayExampleComV2Gateway\n" in informers
    assert " as GatewayOtherOrgV1Gateway\n" in informers
    for text in modules.values():
        names = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
        assert len(set(names)) == len(names)


def test_kinds_of_several_groups_and_scopes_are_all_reachable(tmp_path: Path) -> None:
    package = tmp_path / "generated_clients"
    package.mkdir()
    for name, text in client_modules([Deployment, Pod, Namespace]).items():
        (package / f"{name}.py").write_text(text)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(package)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    clientset = load((package / "clientset.py").read_text()).Clientset(FakeClient())

    assert checked.returncode == 0, checked.stdout
    assert clientset.apps_v1.deployments("default").type is Deployment
    assert clientset.core_v1.pods("default").type is Pod
    assert clientset.core_v1.namespaces().type is Namespace


def _declared(name: str, group: str, version: str, plural: str) -> Any:
    namespace = {"__annotations__": {"spec": Model}, "__module__": __name__}
    cls: Any = type(Resource)(name, (Resource,), namespace)
    return resource(group=group, version=version, plural=plural)(cls)


_Client = _declared("Client", "gateway.example.com", "v1", "clients")
_GatewayV1 = _declared("Gateway", "gateway.example.com", "v1", "gateways")
_GatewayV2 = _declared("Gateway", "gateway.example.com", "v2", "gateways")
_OtherGateway = _declared("Gateway", "gateway.other.org", "v1", "gateways")
