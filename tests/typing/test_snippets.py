"""What a type checker accepts and refuses in a user's program.

All snippets are checked by one run of ``mypy --strict``, because a run takes seconds.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

HEADER = """
from datetime import datetime
from threading import Event
from typing import Any, assert_type

from clientgo.aio import AsyncClient, AsyncResourceClient, blocking, keys, running
from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.cache import SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.informers import MetadataInformerFactory, SharedInformerFactory
from clientgo.observe.metrics import Counter, set_default_provider
from clientgo.observe.metrics.prometheus import PrometheusProvider
from clientgo.observe.metrics.names import WORKQUEUE_ADDS
from clientgo.meta import (
    APIResource, ManagedFieldsEntry, Model, ObjectList, Resource, Unstructured, resource
)
from clientgo.operator import Context, Manager, Result, controller
from clientgo.workqueue import Queue


class PageSpec(Model):
    replicas: int | None = None
    html: str


@resource(group="example.com", version="v1", plural="pages")
class Page(Resource):
    spec: PageSpec


client = Client("http://127.0.0.1:1")
maps = client.resource(ConfigMap)
"""

ACCEPTED = {
    "an object of the client's type is written": "maps.create(ConfigMap())",
    "a mapping is written": 'maps.update({"metadata": {"name": "a"}})',
    "an unstructured object is written": "maps.apply(Unstructured.from_dict({}))",
    "an unstructured client takes a mapping": """
        pages = APIResource(group="example.com", version="v1", kind="Page", plural="pages")
        unstructured = client.resource(pages)
        unstructured.create({"kind": "Page"})
    """,
    "a written object has the client's type": "assert_type(maps.create(ConfigMap()), ConfigMap)",
    "a list knows the type of its items": "assert_type(maps.list(), ObjectList[ConfigMap])",
    "a required field may follow an optional one": 'PageSpec(html="")',
    "a controller takes its settings": """
        @controller(Page, owns=[ConfigMap], workers=2, retry="none", max_interval=None)
        class Pages:
            def reconcile(self, ctx: Context[Page], page: Page) -> Result | None: ...
    """,
    "a manager takes its settings": 'Manager(workers=2, namespaces=["a"], graceful_shutdown=None)',
    "a manager that reads a file takes them too": 'Manager.load("operator.toml", metrics="0")',
    "a context has the object's type": """
        def reconcile(ctx: Context[Page]) -> None:
            assert_type(ctx.obj, Page)
    """,
    "a provider of metrics makes the instruments of its interface": """
        set_default_provider(PrometheusProvider())
        assert_type(PrometheusProvider().counter(WORKQUEUE_ADDS, name="a"), Counter)
    """,
    "an informer knows the type of its objects": """
        informer = SharedIndexInformer(ResourceListWatch(maps), ConfigMap)
        assert_type(informer.indexer.list(), list[ConfigMap])
    """,
    "an awaiting client has the arguments and the types of the other": """
        async def main(requests: AsyncClient, queue: Queue[str]) -> None:
            pages = requests.resource(Page).namespace("default")
            assert_type(await pages.get("a", resource_version="0"), Page)
            assert_type(await pages.list(), ObjectList[Page])
            assert_type(await requests.create(Page(spec=PageSpec(html=""))), Page)
            assert_type(await maps_of(requests).patch("a", {}, dry_run=True), ConfigMap)
            async for event in pages.watch():
                assert_type(event.object, Page)
            async for key in keys(queue):
                assert_type(key, str)

        def maps_of(requests: AsyncClient) -> AsyncResourceClient[ConfigMap]:
            return requests.resource(ConfigMap)
    """,
    "the awaiting client of a run has the types of the other": """
        async def reconcile(ctx: Context[Page], page: Page) -> None:
            assert_type(await ctx.aclient.create(page), Page)
            assert_type(await ctx.aclient.status.patch(page, {}), Page)
            assert_type(await ctx.aclient.get(ConfigMap, "a"), ConfigMap)
    """,
    "a function for threads keeps the arguments of its coroutine": """
        async def added(page: Page) -> int:
            return 1

        def use() -> None:
            assert_type(blocking(added)(Page(spec=PageSpec(html=""))), int)
    """,
    "a coroutine runs every factory of informers": """
        async def main(stop: Event) -> None:
            async with running(SharedInformerFactory(client), stop):
                pass
            async with running(MetadataInformerFactory(client), stop):
                pass
    """,
    "a header has datetimes and managers": """
        metadata = ConfigMap().metadata
        assert_type(metadata.creation_time, datetime | None)
        assert_type(metadata.deletion_time, datetime | None)
        assert_type(metadata.managed_fields, tuple[ManagedFieldsEntry, ...])
        metadata.managed_fields = ()
    """,
}

REFUSED = {
    "an object of another type is not created": (
        "maps.create(Secret())",
        'Argument 1 to "create" of "ResourceClient" has incompatible type "Secret"',
    ),
    "an object of another type is not updated": (
        "maps.update(Secret())",
        'Argument 1 to "update" of "ResourceClient" has incompatible type "Secret"',
    ),
    "an object of another type is not applied": (
        "maps.apply(Secret())",
        'Argument 1 to "apply" of "ResourceClient" has incompatible type "Secret"',
    ),
    "the status of an object of another type is not written": (
        "maps.update_status(Secret())",
        'Argument 1 to "update_status" of "ResourceClient" has incompatible type "Secret"',
    ),
    "an awaiting client refuses what the other refuses": (
        "async def main(requests: AsyncClient) -> None:\n"
        "            await requests.resource(ConfigMap).create(Secret())",
        'Argument 1 has incompatible type "Secret"',
    ),
    "a coroutine of another type is no handler": (
        "async def added(page: int) -> None: ...\n"
        "        def use(informer: SharedIndexInformer[Page]) -> None:\n"
        "            informer.add_event_handler(on_add=blocking(added))",
        'Argument 1 to "blocking" has incompatible type "Callable[[int], Coroutine',
    ),
    "an item of a list has no fields of another type": (
        "maps.list().items[0].spec",
        '"ConfigMap" has no attribute "spec"',
    ),
    "a model is made by keyword": (
        'PageSpec(1, "")',
        'Too many positional arguments for "PageSpec"',
    ),
    "a model's required field must be given": (
        "PageSpec()",
        'Missing named argument "html" for "PageSpec"',
    ),
    "a misspelled argument of a controller": (
        "controller(Page, ownz=[ConfigMap])",
        'Unexpected keyword argument "ownz" for "controller"',
    ),
    "a misspelled setting of a controller": (
        "controller(Page, workrs=2)",
        'Unexpected keyword argument "workrs" for "controller"; did you mean "workers"?',
    ),
    "a setting of a controller of the wrong type": (
        'controller(Page, workers="2")',
        'Argument "workers" to "controller" has incompatible type "str"; expected "int"',
    ),
    "a misspelled setting of a manager": (
        "Manager(workrs=2)",
        'Unexpected keyword argument "workrs" for "Manager"; did you mean "workers"?',
    ),
    "a namespace that is a number": (
        "Manager(namespaces=3)",
        'Argument "namespaces" to "Manager" has incompatible type "int"',
    ),
    "a misspelled step of a builder": (
        "Manager().controller(Page).options(workrs=2)",
        'Unexpected keyword argument "workrs" for "options" of "ControllerBuilder"',
    ),
    "a misspelled override at the registration": (
        "Manager().register(object(), workrs=2)",
        'Unexpected keyword argument "workrs" for "register" of "Manager"',
    ),
    "an object of a run has the fields of its type only": (
        "def reconcile(ctx: Context[Page]) -> None:\n            ctx.obj.specs",
        '"Page" has no attribute "specs"',
    ),
}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each snippet, by its name."""
    folder: Path = tmp_path_factory.mktemp("snippets")
    snippets = ACCEPTED | {name: snippet for name, (snippet, _) in REFUSED.items()}
    names = {}
    for number, (name, snippet) in enumerate(snippets.items()):
        names[f"snippet_{number}"] = name
        indented = snippet if snippet.startswith("\n") else f"        {snippet}\n"
        body = f"def snippet() -> None:\n    if True:\n{indented}"
        (folder / f"snippet_{number}.py").write_text(HEADER + body)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found = defaultdict(list)
    for module, message in re.findall(r"(snippet_\d+)\.py:\d+: error: (.*)", run.stdout):
        found[names[module]].append(message)
    return found


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_type_checker_accepts(name: str, messages: dict[str, list[str]]) -> None:
    assert messages.get(name, []) == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_type_checker_refuses(name: str, messages: dict[str, list[str]]) -> None:
    said = messages.get(name, [])

    assert len(said) == 1
    assert said[0].startswith(REFUSED[name][1])
