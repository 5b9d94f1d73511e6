"""A controller whose cache does not have its own last write yet, and what a ConsistencyStore does.

It gives each ConfigMap with the label ``token`` one Secret under a generated name. If the ConfigMap
changes before the event of the Secret has arrived, the cache shows none, and a second one would be
created. ``python -m examples.own_writes`` disturbs the controller in this way, on API servers of
its own, without the check and with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from clientgo.api.core_v1 import ConfigMap, Secret
from clientgo.cache import REAL_FIFO, ConsistencyStore
from clientgo.client import Client
from clientgo.control_loop import ControlLoop
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.meta.owner_references import get_controller_of, is_controlled_by, new_controller_ref
from clientgo.rest import RestConfig
from clientgo.testing.perturb import Report, perturb
from sample_controller.demo import running

SOURCE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "shop", "namespace": "default", "labels": {"token": ""}},
}


@contextmanager
def controller(config: RestConfig, *, check: bool) -> Iterator[None]:
    """Run the controller until the end of the block."""
    with Client(config) as client:
        loop = ControlLoop(client, "tokens", informer_queue=REAL_FIFO)
        sources, secrets = loop.watch(ConfigMap), loop.watch(Secret, owner)
        written = ConsistencyStore({Secret: loop.factory.informer_for(Secret).indexer})

        def sync(name: ObjectName) -> None:
            if check:
                written.ensure_ready(name)  # raises ConsistencyError: called again a little later
            source = sources.namespace(name.namespace).find(name.name)
            if source is None or "token" not in source.metadata.labels:
                return
            in_cache = secrets.namespace(name.namespace).list()
            if not any(is_controlled_by(secret, source) for secret in in_cache):
                reference = new_controller_ref(source)
                secret = Secret(
                    metadata=ObjectMeta(generate_name="token-", owner_references=(reference,))
                )
                answer = client.resource(Secret).namespace(name.namespace).create(secret)
                written.wrote(source, answer)

        with running("tokens", lambda stop: loop.run(sync, stop)):
            yield


def owner(secret: Secret) -> Iterable[ObjectName]:
    """Return the key of the ConfigMap that controls a Secret, if one does."""
    reference = get_controller_of(secret)
    if reference is None or reference.kind != "ConfigMap":
        return []
    return [ObjectName(secret.metadata.namespace, reference.name)]


def disturbed(*, check: bool) -> Report:
    """Hold back the event of the Secret, while the ConfigMap changes."""
    return perturb(
        partial(controller, check=check),
        manifests=[SOURCE],
        perturbations=["lagging-cache"],
        quiet=0.3,
        timeout=5.0,
    )


def result_of(report: Report) -> str:
    """Return in a line how the disturbed run has ended."""
    (outcome,) = report.outcomes
    return outcome.problem.partition("\n")[0] or outcome.verdict


if __name__ == "__main__":
    print("without the check:", result_of(disturbed(check=False)))
    print("with the check:", result_of(disturbed(check=True)))
