"""Commands, ports and logs of a pod: on simulated workloads, no cluster needed.

``python -m examples.pod_streams``
"""

from __future__ import annotations

import urllib.request

from clientgo.api.core_v1 import Container, ContainerPort, EnvVar, Pod, PodSpec
from clientgo.client import Client, ResourceClient
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import simulate
from clientgo.testing.observer import Observer
from examples.embedded import see


def web() -> Pod:
    container = Container(
        name="web",
        image="web:1",
        env=[EnvVar(name="COLOR", value="red")],
        ports=[ContainerPort(container_port=80)],
    )
    return Pod(metadata=ObjectMeta(name="web-0"), spec=PodSpec(containers=[container]))


def run_commands(pods: ResourceClient[Pod]) -> None:
    result = pods.exec("web-0", ["env"], timeout=10).check()
    print("its environment:", result.stdout.decode().split())
    copied = pods.exec("web-0", ["cat"], stdin=b"from here, and back", timeout=10)
    print("cat has written:", copied.stdout.decode())
    print("false ends with:", pods.exec("web-0", ["false"], timeout=10).exit_code)


def connect(pods: ResourceClient[Pod]) -> None:
    with (
        pods.port_forward("web-0", 80) as forward,
        urllib.request.urlopen(f"http://{forward.host}:{forward.local_port}/") as answer,
    ):
        print("its port answers:", answer.read().decode().strip())


def follow(server: EmbeddedAPIServer, pods: ResourceClient[Pod]) -> None:
    with pods.logs("web-0", follow=True, timeout=10) as lines:
        print("its log begins:", next(lines))
        server.write_log("default", "web-0", "GET / 200\n")
        print("and goes on:", next(lines))
        pods.delete("web-0", grace_period_seconds=0)
        print("lines after its end:", [*lines])


def main() -> None:
    with (
        EmbeddedAPIServer() as server,
        simulate(server, nodes=1),
        Client(str(server.kubeconfig)) as client,
        Observer(client, Pod) as observer,
    ):
        pods = client.resource(Pod).namespace("default")
        pods.create(web())
        lister = observer.lister(Pod).namespace("default")
        see(observer, "the pod runs", lambda: lister.get("web-0").status.phase == "Running")
        run_commands(pods)
        connect(pods)
        follow(server, pods)


if __name__ == "__main__":
    main()
