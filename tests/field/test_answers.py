"""Answers that are none, where an informer is not what reads them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.cache import ListPager
from clientgo.client import Client
from clientgo.leaderelection import LeaseLock
from clientgo.meta import DecodeError, GroupVersion, ListOptions
from clientgo.rest import RestConfig
from clientgo.testing.scripted_server import RecordedRequest, answer, answer_json
from tests.field.objects import NAMESPACE, listing, pod
from tests.field.scenario import Field

GATEWAY = answer_json({"message": "no Route matched with those values"})
LOGIN = answer(body=b"<html>Log in</html>", content_type="text/html")


@pytest.mark.parametrize("script", [GATEWAY, LOGIN], ids=["message", "login page"])
@pytest.mark.parametrize(
    "call",
    [
        lambda pods: pods.get("a"),
        lambda pods: pods.create(pod("a")),
        lambda pods: pods.update(pod("a")),
        lambda pods: pods.patch("a", {}),
        lambda pods: pods.delete("a"),
    ],
)
def test_what_a_gateway_answers_is_neither_an_object_nor_a_write(
    field: Field, call: Any, script: Any
):
    """FIELD-41: not an object without a name, and not the success of a deletion."""
    field.server.on("*", script)
    with Client(RestConfig(server=field.server.url)) as client:
        pods = client.resource(Pod).namespace(NAMESPACE)
        with pytest.raises(DecodeError, match="is this the API server"):
            call(pods)


def test_a_gateways_answer_is_no_lease_that_is_free_and_no_server_that_serves_nothing(
    field: Field,
):
    """FIELD-42: an election and discovery read it as "not known"."""
    field.server.on("*", GATEWAY)
    with Client(RestConfig(server=field.server.url)) as client:
        with pytest.raises(DecodeError, match="not a Lease"):
            LeaseLock(client, NAMESPACE, "lock", "me").get(timeout=5)
        with pytest.raises(DecodeError, match="not a discovery document"):
            client.discovery.resources(GroupVersion("apps", "v1"))


def test_a_pager_stops_at_a_continue_token_that_it_has_seen(field: Field):
    """FIELD-40: also where several tokens go round."""
    following = {"": "one", "one": "two", "two": "one"}

    def page(request: RecordedRequest) -> Any:
        content = listing(pod("a"))
        content["metadata"] |= {"continue": following[request.query.get("continue", "")]}
        return answer_json(content)

    field.pods.on_list(page)
    stop = threading.Event()
    with Client(RestConfig(server=field.server.url)) as client:
        pager = ListPager(client.resource(Pod).namespace(NAMESPACE).list)
        with pytest.raises(DecodeError, match="'one' a second time"):
            pager.list(ListOptions(), stop)
    stop.set()

    assert len(field.server.requests) == 3
