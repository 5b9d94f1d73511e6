"""The controllers on the low-level parts, each in a process of its own."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import yaml

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.batch_v1 import Job, JobCondition, JobSpec, JobStatus
from clientgo.api.core_v1 import ConfigMap, Container, Namespace, PodSpec, PodTemplateSpec
from clientgo.client import Client
from clientgo.meta import APIResource, ObjectMeta
from clientgo.meta.timestamps import format_time
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.definitions import is_established
from clientgo.testing.observer import Observer
from examples.site_checks import Site
from tests.examples.running import ROOT, Running, kubeconfig_of, printed_by

TEAMS = APIResource(
    group="example.com", version="v1", kind="Team", plural="teams", namespaced=False
)


def lines_of(example: str) -> int:
    return len((ROOT / "examples" / example).read_text().splitlines())


def test_they_are_short() -> None:
    assert lines_of("replicate_configmaps.py") <= 90
    assert lines_of("finished_jobs.py") <= 50
    assert lines_of("teams.py") <= 150


def test_configmaps_are_copied_into_every_namespace(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    original = ConfigMap(metadata=ObjectMeta(name="m", labels={"replicate": ""}), data={"k": "v"})
    maps = kube_client.resource(ConfigMap)
    namespaces = kube_client.resource(Namespace)
    with Running("replicate_configmaps.py", env=kubeconfig_of(kube_api_server)) as running:
        maps.namespace("default").create(original)
        running.read_until("copied default/m to kube-system")
        namespaces.create(Namespace(metadata=ObjectMeta(name="late")))
        running.read_until("copied default/m to late")
        assert maps.namespace("late").get("m").data == {"k": "v"}
        maps.namespace("default").patch("m", {"data": {"k": "w"}})
        with Observer(kube_client, ConfigMap) as observer:  # the first copy may be made twice
            copies = observer.lister(ConfigMap).namespace("late")
            assert observer.wait_until(lambda: copies.get("m").data == {"k": "w"})
        maps.namespace("default").delete("m")
        running.read_until("deleted late/m")
        running.stop()


def test_finished_jobs_are_deleted_after_a_time(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    pod = PodSpec(containers=[Container(name="c", image="i")], restart_policy="Never")
    jobs = kube_client.resource(Job).namespace("default")
    for name in ("done", "running"):
        template = PodTemplateSpec(spec=pod)
        jobs.create(Job(metadata=ObjectMeta(name=name), spec=JobSpec(template=template)))
    with Running("finished_jobs.py", "1", env=kubeconfig_of(kube_api_server)) as running:
        done = jobs.get("done")
        now = format_time(time.time())
        conditions = [
            JobCondition(type=kind, status="True", last_transition_time=now)
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        done.status = JobStatus(start_time=now, completion_time=now, conditions=conditions)
        jobs.update_status(done)
        assert running.readline() == "deleted default/done"
        assert [job.metadata.name for job in jobs.list().items] == ["running"]
        running.stop()


def test_a_team_has_a_namespace_until_it_is_deleted(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    with Running("teams.py", env=kubeconfig_of(kube_api_server)) as running:
        with Observer(kube_client, CustomResourceDefinition) as seen:
            definitions = seen.lister(CustomResourceDefinition)
            assert seen.wait_until(lambda: is_established(definitions.get("teams.example.com")))
        teams = kube_client.resource(TEAMS)
        with Observer(kube_client, Namespace) as seen:
            namespaces = seen.lister(Namespace)
            teams.create(yaml.safe_load((ROOT / "examples/team.yaml").read_text()))
            assert running.readline() == "created the namespace of blue"
            assert seen.wait_until(lambda: namespaces.get("team-blue"))
            teams.delete("blue")
            assert running.readline() == "the namespace of blue is gone"
            assert seen.wait_until(
                lambda: "team-blue" not in {x.metadata.name for x in namespaces.list()}
            )
        running.stop()


def test_an_asyncio_service_answers_from_its_cache_until_one_sigterm(
    kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    """Of a cluster that is there; the site of the test does not listen."""
    with Running("site_service", "0", env=kubeconfig_of(kube_api_server)) as running:
        port = int(running.read_until("listening on port").split()[-1])
        site = {
            "apiVersion": "example.com/v1",
            "kind": "Site",
            "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"url": "http://127.0.0.1:9"},
        }
        kube_client.create(site)
        with Observer(kube_client, Site) as seen:
            written = seen.lister(Site).namespace("default")
            assert seen.wait_until(lambda: (found := written.find("shop")) and found.status)
        expected = {"default/shop": "no answer: ConnectionRefusedError"}
        assert eventually(lambda: answer_of(port), expected) == expected
        running.send(signal.SIGTERM)
        assert running.finish() == []


def test_the_demo_of_the_asyncio_service() -> None:
    assert printed_by("site_service", "--demo") == [
        "the service has from its cache what the controller has written: "
        '{"default/shop":"HTTP/1.1 200 OK"}',
        "one SIGTERM has ended the service, the controller and the informer",
    ]


def answer_of(port: int) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as response:
        return json.load(response)


def eventually(ask: Callable[[], Any], expected: Any) -> Any:
    """What it answers at last: the cache of another process may be behind."""
    deadline = time.monotonic() + 60
    while (found := ask()) != expected and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_processes_share_the_work(kube_api_server: EmbeddedAPIServer) -> None:
    with Running("shared_work.py", "2", "0.5", env=kubeconfig_of(kube_api_server)) as running:
        output = running.finish()
    shares = sorted(line for line in output if line.endswith("of 16 shards"))
    assert shares == ["process 1 has 8 of 16 shards", "process 2 has 8 of 16 shards"]
    rates = sorted(line.split(":")[0] for line in output if line.endswith("syncs a second"))
    assert rates == ["process 1", "process 2"]
