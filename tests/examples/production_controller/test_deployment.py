"""The manifests of the production example: what they run works with what they grant."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest
import yaml

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.core_v1 import Namespace
from clientgo.client import Client
from clientgo.leaderelection import USUAL_TIMING
from clientgo.meta import ObjectMeta
from clientgo.rest import load_config
from clientgo.testcluster.server import Application, EmbeddedAPIServer
from clientgo.testcluster.server import server as apiserver
from clientgo.testcluster.server.faults import StaleLists
from clientgo.testcluster.server.requests.request_info import RequestInfo, parse_path
from clientgo.testcluster.workloads import WorkloadSimulator
from examples.production_controller.options import Election, parse_options
from sample_controller.demo import install_crd, running
from tests.e2e.conftest import World
from tests.examples.production_controller.program import (
    DEPLOY,
    FREE_PORTS,
    ROOT,
    STANDS_BY,
    WORKS,
    Program,
    container_command,
    deployment,
    dockerfile,
)

TEST = "this-test"
NAMESPACE = "sample-controller"


class Asked(NamedTuple):
    """What a request needs to be allowed, as RBAC names it."""

    group: str
    resource: str
    verb: str
    namespace: str
    name: str


class Asking:
    """What everybody but this test asks of a server."""

    def __init__(self) -> None:
        self.requests: set[Asked] = set()
        self.elsewhere: set[str] = set()

    def note(self, scope: Mapping[str, Any]) -> None:
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        if headers.get("user-agent", "").startswith(TEST):
            return
        info = parse_path(scope["path"])
        if info is None:
            self.elsewhere.add(scope["path"])
            return
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        query = scope["query_string"].decode()
        verb = _verb(scope["method"], info, query)
        # As an API server does for authorisation: a watch of one name is a watch of that object.
        name = info.name or dict(parse_qsl(query)).get("fieldSelector", "").partition("name=")[2]
        self.requests.add(Asked(info.group, resource, verb, info.namespace, name))


def _verb(method: str, info: RequestInfo, query: str) -> str:
    if method == "GET":
        return "get" if info.name else "watch" if "watch=" in query else "list"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[method]


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Asking:
    asking = Asking()

    class Listening(Application):
        async def __call__(self, scope: Mapping[str, Any], receive: Any, send: Any) -> None:
            asking.note(scope)
            await super().__call__(scope, receive, send)

    monkeypatch.setattr(apiserver, "Application", Listening)
    return asking


@pytest.fixture
def server(asking: Asking) -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


@pytest.fixture
def client(server: EmbeddedAPIServer) -> Iterator[Client]:
    config = load_config(str(server.kubeconfig))
    with Client(replace(config, qps=-1.0, user_agent=TEST)) as client:
        yield client


def manifests(directory: Path = DEPLOY) -> list[dict[str, Any]]:
    """All that a kustomization holds."""
    found: list[dict[str, Any]] = []
    for name in yaml.safe_load((directory / "kustomization.yaml").read_text())["resources"]:
        path = directory / name
        if path.is_dir():
            found += manifests(path)
        else:
            found += yaml.safe_load_all(path.read_text())
    return found


def granted() -> set[tuple[str, str, str, str, str]]:
    """Each verb on each resource that a role grants: its namespace and name if it has them."""
    return {
        (group, resource, verb, role["metadata"].get("namespace", ""), name)
        for role in manifests()
        if role["kind"] in ("Role", "ClusterRole")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def test_a_server_takes_all_manifests_in_their_order(client: Client) -> None:
    """SAMPLE-02: kustomize puts namespaces and definitions first."""
    first = ("Namespace", "CustomResourceDefinition")
    ordered = sorted(manifests(), key=lambda manifest: manifest["kind"] not in first)
    for manifest in ordered:
        group = manifest["apiVersion"].rpartition("/")[0]
        served = client.mapper.for_kind(group, manifest["kind"])
        namespace = manifest["metadata"].get("namespace", "")
        client.resource(served).namespace(namespace).apply(manifest, field_manager=TEST)

    assert {manifest["kind"] for manifest in ordered} == {
        "Namespace",
        "CustomResourceDefinition",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Deployment",
    }


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_builds_and_applies_them(server: EmbeddedAPIServer) -> None:
    kubectl = ["kubectl", "--kubeconfig", str(server.kubeconfig)]
    applied = subprocess.run(
        [*kubectl, "apply", "-k", str(DEPLOY)], capture_output=True, text=True, check=False
    )

    assert applied.returncode == 0, applied.stderr
    assert "deployment.apps/sample-controller created" in applied.stdout


@pytest.mark.parametrize("form", ["crd.yaml", "crd-status-subresource.yaml"])
def test_a_server_takes_either_form_of_the_definition(client: Client, form: str) -> None:
    """SAMPLE-02."""
    text = (ROOT / "sample_controller/artifacts" / form).read_text()
    created = client.resource(CustomResourceDefinition).create(yaml.safe_load(text))

    assert bool(created.spec.versions[0].subresources) == ("status" in form)


def test_what_it_runs_is_what_works_and_what_it_is_granted_is_what_it_uses(
    server: EmbeddedAPIServer, client: Client, asking: Asking, tmp_path: Path
) -> None:
    """From the Deployment's command line, with another way to find the server."""
    client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=NAMESPACE)))
    install_crd(client)
    with ExitStack() as stack:
        stack.enter_context(running("workloads", WorkloadSimulator(client).run))
        world = World.seen_by(client, server, stack)
        server.inject(StaleLists())  # an older server, whose lists are no streams
        command = [*container_command(), *FREE_PORTS]
        program = stack.enter_context(Program(command, server.kubeconfig, tmp_path))
        program.wait_for(WORKS)
        standby = stack.enter_context(Program(command, server.kubeconfig, tmp_path))
        standby.wait_for(STANDS_BY)
        server.lift()
        server.close_watches()

        world.create_foo("a", replicas=1)
        world.eventually(lambda: world.reconciled("a", 1))
        world.scale("a", 3)
        world.eventually(lambda: world.reconciled("a", 3))
        world.eventually(lambda: any((e.count or 0) > 1 for e in world.events("Synced")))

        check_endpoints(program)
        program.send(signal.SIGTERM)
        assert program.wait() == 0
        standby.wait_for(WORKS)
        standby.send(signal.SIGTERM)
        assert standby.wait() == 0
        blocks = [
            owner.block_owner_deletion for owner in world.deployment("a").metadata.owner_references
        ]
    synced = [
        line for line in map(json.loads, program.lines()) if line["message"].endswith("synced")
    ]
    assert {(line["controller"], line["key"]) for line in synced} == {
        ("sample-controller", "default/a")
    }

    allowed = granted()
    used = {grant for grant in allowed for asked in asking.requests if _covers(grant, asked)}
    if blocks == [True]:
        # Where owners are protected this is asked for too, by the server that is written to.
        used.add(("samplecontroller.k8s.io", "foos/finalizers", "update", "", ""))
    # After a watch that ends immediately: documents of discovery, which every client may read.
    assert asking.elsewhere <= {"/apis/apps/v1", "/apis/samplecontroller.k8s.io/v1alpha1"}
    assert {a for a in asking.requests if not any(_covers(g, a) for g in allowed)} == set()
    assert allowed - used == set()


def _covers(grant: tuple[str, str, str, str, str], asked: Asked) -> bool:
    *what, namespace, name = grant
    return (
        what == [asked.group, asked.resource, asked.verb]
        and namespace in ("", asked.namespace)
        and name in ("", asked.name)
    )


def check_endpoints(program: Program) -> None:
    assert program.get("health", "/readyz") == (200, "ok")
    assert program.get("health", "/healthz") == (200, "ok")
    assert "[+]leaderElection ok" in program.get("health", "/healthz?verbose")[1]
    status, page = program.get("metrics", "/metrics")
    assert status == 200
    lease = f'name="{NAMESPACE}/sample-controller"'
    foos = 'group="samplecontroller.k8s.io",name="sample-controller",resource="foos"'
    for series in (
        'workqueue_adds_total{name="sample-controller"}',
        "rest_client_requests_total{",
        f"leader_election_master_status{{{lease}}} 1.0",
        f"informer_store_resource_version{{{foos}",
        "process_resident_memory_bytes",
    ):
        assert series in page


def test_the_arguments_are_what_they_are_meant_to_be() -> None:
    _python, dash_m, module, *arguments = container_command()
    options = parse_options(arguments)

    assert (dash_m, module) == ("-m", "examples.production_controller")
    assert options.election == Election(
        namespace=NAMESPACE, name="sample-controller", timing=USUAL_TIMING
    )
    pod = deployment()["spec"]["template"]["spec"]
    ports = {port["name"]: f":{port['containerPort']}" for port in pod["containers"][0]["ports"]}
    assert ports == {
        "metrics": options.metrics_bind_address,
        "probes": options.health_probe_bind_address,
    }


def test_the_pod_is_as_restricted_as_its_namespace_demands() -> None:
    """Pod Security Standards, restricted; and two replicas, whose filesystem cannot be written."""
    spec = deployment()["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]

    assert spec["replicas"] == 2
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= container.keys()


def test_the_image_is_built_of_what_is_there_and_runs_as_the_pods_user() -> None:
    user = deployment()["spec"]["template"]["spec"]["securityContext"]
    found = dockerfile()
    from_here = [copy.split()[:-1] for copy in found["COPY"] if "--from" not in copy]

    assert found["USER"] == [f"{user['runAsUser']}:{user['runAsGroup']}"]
    assert all((ROOT / path).exists() for paths in from_here for path in paths)
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{path}" for paths in from_here for path in paths} <= set(sent)
