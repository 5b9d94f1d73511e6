"""What the examples of the operator layer share: a cluster for demonstrations, and a start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import Resource
from clientgo.operator import Manager
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.observer import Observer
from clientgo.tools.scaffold.installing import install_definitions


@contextmanager
def embedded(*kinds: type[Resource]) -> Iterator[Client]:
    """A client of an API server that knows these kinds, until the end of the block."""
    with EmbeddedAPIServer() as server, Client(RestConfig(server=server.url)) as client:
        install_definitions(client, definitions_of(kinds))
        yield client


def manager_of(client: Client, name: str, **settings: Any) -> Manager:
    """A manager that serves nothing and leaves the client open."""
    return Manager(client, name=name, metrics="0", close_client_on_stop=False, **settings)


def run_on_your_cluster(new_manager: Callable[[Client], Manager], *kinds: type[Resource]) -> None:
    """Install the kinds in the cluster of the kubeconfig, and run the operator until Ctrl-C."""
    with Client() as client:
        install_definitions(client, definitions_of(kinds))
        print("running; press Ctrl-C to stop", flush=True)
        new_manager(client).run()


def see(observer: Observer, line: str, seen: Callable[[], Any]) -> None:
    """Wait until something can be seen through the API, and say so; end the program if not."""
    if not observer.wait_until(seen):
        sys.exit(f"not seen: {line}")
    print(line, flush=True)
