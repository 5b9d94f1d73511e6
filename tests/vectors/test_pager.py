"""The pager asks for pages and puts them together as client-go's does."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from clientgo.cache import ListPager
from clientgo.meta import (
    ListMeta,
    ListOptions,
    ObjectList,
    ObjectMeta,
    Status,
    Unstructured,
    error_from_status,
)
from tests.vectors.loader import params
from tests.vectors.objects import reference


class _StopHereError(Exception):
    pass


@pytest.mark.parametrize("case", params("pager"))
def test_pager_behaves_as_recorded(case: dict[str, Any]) -> None:
    config = case.get("config") or {}
    for step in case["steps"]:
        server = _Server(step["args"]["pages"])
        pager = ListPager(
            server.page,
            page_size=config["page_size"],
            full_list_if_expired=config["full_list_if_expired"],
        )
        stop = threading.Event()
        if step["args"].get("cancelled"):
            stop.set()
        options = _options(step["args"]["options"])
        if step["op"].startswith("list"):
            seen = _list(pager, options, stop, server)
        else:
            seen = _each_item(pager, options, stop, step["args"].get("fn_error_after"))
            _leave_version_out_of_later_pages(step["expect"].get("requests", ()))
        seen["requests"] = server.requests
        expect = dict(step["expect"])
        assert bool(seen.pop("error", None)) is bool(expect.pop("error")), step
        if "paginated" not in seen:
            # An exception carries no flag along.
            expect.pop("paginated", None)
        assert {name: seen.get(name) for name in expect} == expect, step


class _Server:
    """Answers from recorded pages in turn and notes what it was asked."""

    def __init__(self, pages: list[dict[str, Any]]) -> None:
        self._pages = iter(pages)
        self.requests: list[dict[str, Any]] = []
        self.last: ObjectList[Any] | None = None

    def page(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        asked = msgspec.structs.asdict(options)
        asked["continue"] = asked.pop("continue_")
        self.requests.append({name: value for name, value in asked.items() if value})
        page = next(self._pages)
        if "error" in page:
            raise error_from_status(msgspec.convert(page["error"]["status"], Status))
        self.last = ObjectList(
            metadata=ListMeta(
                resource_version=page["resource_version"],
                continue_=page.get("continue", ""),
                remaining_item_count=page.get("remaining_item_count"),
            ),
            items=[_item(name) for name in page["items"]],
        )
        return self.last


def _list(
    pager: ListPager, options: ListOptions, stop: threading.Event, server: _Server
) -> dict[str, Any]:
    try:
        result, paginated = pager.list(options, stop)
    except Exception as error:
        return {"error": error}
    return {
        "paginated": paginated,
        "result": {
            "continue": result.metadata.continue_,
            "is_server_object": result is server.last,
            "items": [reference(obj) for obj in result.items],
            "remaining_item_count": result.metadata.remaining_item_count,
            "resource_version": result.metadata.resource_version,
        },
    }


def _each_item(
    pager: ListPager, options: ListOptions, stop: threading.Event, error_after: int | None
) -> dict[str, Any]:
    items: list[str] = []

    def visit(obj: Any) -> None:
        items.append(reference(obj))
        if error_after is not None and len(items) > error_after:
            raise _StopHereError

    seen: dict[str, Any] = {"items": items}
    try:
        pager.each_item(options, visit, stop)
    except Exception as error:
        seen["error"] = error
    return seen


def _leave_version_out_of_later_pages(requests: list[dict[str, Any]]) -> None:
    """The recorded requests as ours are meant to be; see differences.py."""
    for request in requests[1:]:
        request.pop("resource_version", None)
        request.pop("resource_version_match", None)


def _options(recorded: dict[str, Any]) -> ListOptions:
    return ListOptions(
        **{"continue_" if name == "continue" else name: value for name, value in recorded.items()}
    )


def _item(name: str) -> Unstructured:
    key, _, version = name.partition("@")
    namespace, _, short = key.rpartition("/")
    return Unstructured(
        metadata=ObjectMeta(name=short, namespace=namespace, resource_version=version)
    )
