"""A cluster in this process, for the examples' demonstrations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.apiserver import EmbeddedAPIServer
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import Resource
from clientgo.operator import Manager
from clientgo.rest import RestConfig
from clientgo.testing.observer import Observer


@contextmanager
def embedded(*kinds: type[Resource]) -> Iterator[Client]:
    """A client of an API server that knows these kinds, until the end of the block."""
    with EmbeddedAPIServer() as server, Client(RestConfig(server=server.url)) as client:
        for definition in definitions_of(kinds):
            client.resource(CustomResourceDefinition).create(definition)
        yield client


def manager_of(client: Client, name: str) -> Manager:
    """A manager that serves nothing and leaves the client open."""
    return Manager(client, name=name, metrics="0", close_client_on_stop=False)


def see(observer: Observer, line: str, seen: Callable[[], Any]) -> None:
    """Wait until something can be seen through the API, and say so; end the program if not."""
    if not observer.wait_until(seen):
        sys.exit(f"not seen: {line}")
    print(line, flush=True)
