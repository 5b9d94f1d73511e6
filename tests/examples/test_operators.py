"""The examples on the operator layer, run as the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from clientgo.client import Client
from clientgo.meta import ObjectMeta
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.observer import Observer
from examples.schema_poller import Schema
from examples.secret_routes import Route
from examples.webpage import WebPage
from tests.examples.running import ROOT, Running, kubeconfig_of, printed_by


@pytest.mark.parametrize(
    ("example", "lines"),
    [
        (
            "webpage",
            [
                "the page is served by two pods",
                "a new text makes new pods",
                "without the page nothing is left of it",
            ],
        ),
        (
            "webpage_dependents",
            [
                "the page is served by two pods",
                "a new text makes new pods",
                "without the page nothing is left of it",
            ],
        ),
        (
            "secret_routes",
            [
                "three routes use the first certificate",
                "one change of the Secret, and all of them use the second",
            ],
        ),
        (
            "namespaces",
            [
                "the visitor in red is greeted",
                "the one in blue is not",
                "blue was added, and its visitor is greeted",
            ],
        ),
        (
            "drain_node",
            [
                "two pods run on each node",
                "the first takes no new pods",
                "all of them run on the other",
            ],
        ),
        (
            "from_kopf",
            [
                "create: Hello, world",
                "update: Hello, moon",
                "field: moved from world",
                "deleted by another client, and there again",
            ],
        ),
        (
            "field_changes",
            [
                "a new database needs no upgrade",
                "nor do more replicas",
                "another version does",
                "two more, while the operator was away, are one",
                "upgraded from 1 to 2, asked for",
                "upgraded from 2 to 5, found at the start",
            ],
        ),
        (
            "two_versions",
            [
                "an old client creates a disk of 10Gi",
                "a new client reads 10 gigabytes",
                "the operator, which knows v1 alone, has reported to the old client",
                "a change in v1 reaches the watch of v1alpha1",
                "the old client grows it, and the tier stays: 30, fast",
                "stored in v1",
            ],
        ),
        (
            "database",
            [
                "a schedule that cron does not know is refused",
                "a client of v1alpha1 creates a database, of version 17",
                "two servers are ready, and backups are scheduled",
                "another program deletes its account, and it is there again",
                "without backups in the spec, the CronJob is gone",
                "the database is gone",
                "and so is its account",
            ],
        ),
        (
            "two_clusters",
            [
                "the other cluster says blue, and so does this one",
                "the other API server has restarted",
                "a change after the restart arrives",
            ],
        ),
        (
            "site_checks",
            [
                "200 sites answer, each while all others wait",
                "and that took less than 60 threads",
                "they fail, and their statuses say so",
            ],
        ),
        (
            "sensors",
            [
                "the sensor is asked, and its reading is in the status",
                "it is asked again and again",
                "it moves, and is listened to there",
                "listening to ['house/2']",
                "the object is gone",
                "listening to []",
            ],
        ),
        (
            "schema_poller",
            [
                "the schema is there",
                "another client drops it",
                "and it is there again",
                "another operator takes over where the first one ended",
                "the object is gone",
                "and so is the schema",
            ],
        ),
    ],
)
def test_an_example_shows_what_it_is_about(example: str, lines: list[str]) -> None:
    """BP-23, OP-HND-05, OP-NS-05, OP-SRC-11: one secondary wakes many primaries; namespaces change
    at run time; what has no watch is asked after."""
    assert printed_by(example, "--demo") == lines


def test_the_debug_page_says_why_nothing_happens() -> None:
    lines = printed_by("why_nothing_happens", "--demo")
    filtered = "changes of status, labels and annotations do not run it: "
    filtered += "they leave its generation as it is"
    seconds = re.compile(r"[0-9.e-]+ s\b")
    assert [seconds.sub("N s", line).strip() for line in lines] == [
        "parcel: default/unaddressed",
        "a result or a source asked for the next run in 60 min",
        "its last run succeeded, and nothing has asked for another",
        "an event runs it only if it passes ~label_selector('hold')",
        filtered,
        "parcel: default/slow",
        "it has been running for N s",
        "parcel: default/next",
        "it is ready to run; every worker is busy: default/slow for N s",
        "parcel: default/held",
        "its events are stopped by a predicate: ~label_selector('hold')",
        "parcel: default/lost",
        "the cache of parcels has no such object",
    ]


KINDS = {
    "webpage": WebPage,
    "webpage_dependents": WebPage,
    "secret_routes": Route,
    "schema_poller": Schema,
}


@pytest.mark.parametrize("example", KINDS)
def test_an_example_runs_on_a_cluster_that_does_not_know_its_kind_yet(
    example: str, tmp_path: Path
) -> None:
    kind: Any = KINDS[example]
    arguments = [str(tmp_path / "database")] if example == "schema_poller" else []
    with (
        EmbeddedAPIServer() as server,
        Client(server.url) as client,
        Running(example, *arguments, env=kubeconfig_of(server)) as running,
    ):
        running.read_until("running")
        client.resource(kind).namespace("default").create(kind(metadata=ObjectMeta(name="a")))
        with Observer(client, kind) as seen:
            objects = seen.lister(kind).namespace("default")
            assert seen.wait_until(lambda: objects.get("a").status is not None)
        running.stop()


@pytest.mark.parametrize(
    "arguments", [["dynamic_informer.py"], ["schema_poller"], ["two_versions"]]
)
def test_an_example_without_its_argument_says_how_it_is_used(arguments: list[str]) -> None:
    with pytest.raises(AssertionError, match="usage: python"):
        printed_by(*arguments)


def test_the_page_shows_the_reconciler_as_it_is() -> None:
    page = (ROOT / "docs" / "operators" / "index.md").read_text()
    example = ROOT / "examples" / "foo_operator" / "reconciler.py"

    assert f"```python\n{example.read_text()}```" in page
    assert len(example.read_text().splitlines()) < 80


def test_every_example_is_listed() -> None:
    page = (ROOT / "examples" / "README.md").read_text()
    parts = {path.stem for path in (ROOT / "examples").glob("*.py")} | {
        "cronjob",
        "database",
        "foo_operator",
    }

    assert [name for name in sorted(parts - {"embedded"}) if name not in page] == []
