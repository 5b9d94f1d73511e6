"""Requests that faults strike, and what watches show of them."""

from __future__ import annotations

from typing import Any

from clientgo.testcluster.server.faults import Requests
from tests.testcluster.server.http_api import CONFIGMAPS, Api, Watch

CREATE = Requests(verbs=("create",), resource="configmaps")
LIST = Requests(verbs=("list",), resource="configmaps")


def names(page: Any) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"] if "k" in item["data"]]


def watch_from_now(api: Api, **query: str) -> Watch:
    version = api.get(CONFIGMAPS)["metadata"]["resourceVersion"]
    return api.watch(CONFIGMAPS, resourceVersion=version, **query)
