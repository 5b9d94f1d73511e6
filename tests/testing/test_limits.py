"""What the page on testing says that the fake does, and does not, compared with a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.client import Client, ResourceClient
from clientgo.meta import ConflictError, InvalidError, ListOptions, ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing import FakeClient, Realism

EVERYTHING = (
    Realism.VERSIONS | Realism.NAMES | Realism.IDENTITY | Realism.COLLECTIONS | Realism.OWNERSHIP
)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


def _config_maps(client: Client) -> ResourceClient[ConfigMap]:
    return client.resource(ConfigMap).namespace("default")


def _create(client: Client, name: str = "a", **metadata: object) -> ConfigMap:
    return _config_maps(client).create(ConfigMap(metadata=ObjectMeta(name=name, **metadata)))  # type: ignore[arg-type]


def _names(client: Client, options: ListOptions | None = None) -> list[str]:
    return [each.metadata.name for each in _config_maps(client).list(options).items]


def has_a_version(client: Client) -> bool:
    return bool(_create(client).metadata.resource_version)


def has_a_uid(client: Client) -> bool:
    return bool(_create(client).metadata.uid)


def refuses_a_stale_version(client: Client) -> bool:
    stale = _create(client)
    _config_maps(client).patch("a", {"data": {"b": "c"}})
    try:
        _config_maps(client).update(stale)
    except ConflictError:
        return True
    return False


def makes_names(client: Client) -> bool:
    try:
        return bool(_create(client, "", generate_name="a-").metadata.name)
    except InvalidError:
        return False


def deletes_collections(client: Client) -> bool:
    _create(client, labels={"b": "c"})
    _config_maps(client).delete_collection(ListOptions(label_selector="b=c"))
    return _names(client) == []


def stores_nothing_in_a_dry_run(client: Client) -> bool:
    _config_maps(client).create(ConfigMap(metadata=ObjectMeta(name="a")), dry_run=True)
    return _names(client) == []


def lists_by_labels(client: Client) -> bool:
    _create(client)
    return _names(client, ListOptions(label_selector="b=c")) == []


def lists_by_fields(client: Client) -> bool:
    _create(client)
    return _names(client, ListOptions(field_selector="metadata.name=b")) == []


def lists_in_pages(client: Client) -> bool:
    _create(client, "a")
    _create(client, "b")
    return _names(client, ListOptions(limit=1)) == ["a"]


def validates(client: Client) -> bool:
    try:
        _create(client, "Not A Name")
    except InvalidError:
        return True
    return False


def waits_for_finalizers(client: Client) -> bool:
    _create(client, finalizers=["example.com/f"])
    _config_maps(client).delete("a")
    kept = _names(client) == ["a"]
    if kept:
        _config_maps(client).patch("a", {"metadata": {"finalizers": None}})
    return kept


def keeps_status_apart(client: Client) -> bool:
    """The server ignores what else a write of the status says."""
    deployments = client.resource(Deployment).namespace("default")
    labels = {"a": "b"}
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels),
        spec=PodSpec(containers=[Container(name="c", image="i")]),
    )
    spec = DeploymentSpec(
        replicas=1, selector=LabelSelector(match_labels=labels), template=template
    )
    deployments.create(Deployment(metadata=ObjectMeta(name="a"), spec=spec))
    spec.replicas = 5
    deployments.update_status(
        Deployment(metadata=ObjectMeta(name="a", namespace="default"), spec=spec)
    )
    replicas = deployments.get("a").spec.replicas
    deployments.delete("a")
    return replicas == 1


@pytest.mark.parametrize(
    ("ability", "plain", "realistic", "real"),
    [
        (has_a_version, False, True, True),
        (has_a_uid, False, True, True),
        (refuses_a_stale_version, False, True, True),
        (makes_names, False, True, True),
        (deletes_collections, False, True, True),
        (stores_nothing_in_a_dry_run, True, True, True),
        (lists_by_labels, True, True, True),
        (lists_by_fields, False, False, True),
        (lists_in_pages, False, False, True),
        (validates, False, False, True),
        (waits_for_finalizers, False, False, True),
        (keeps_status_apart, False, False, True),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_fake_does_what_the_page_says_and_the_server_all_of_it(
    server: EmbeddedAPIServer,
    ability: Callable[[Client], bool],
    plain: bool,
    realistic: bool,
    real: bool,
) -> None:
    """FAKE-15."""
    with Client(server.url) as client:
        _config_maps(client).delete_collection()

        assert ability(client) is real
    assert ability(FakeClient()) is plain
    assert ability(FakeClient(realism=EVERYTHING)) is realistic
