"""One Secret, many Routes: a renewed certificate reconciles every Route that uses it.

A Route names its Secret, but a Secret does not name its Routes. So the Routes are indexed by the
name of their Secret, and an event of a Secret is mapped to the Routes in the index.

``python -m examples.secret_routes`` runs on the cluster of your kubeconfig;
``python -m examples.secret_routes --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from hashlib import sha256

from clientgo.api.core_v1 import Secret
from clientgo.client import Client
from clientgo.meta import Model, ObjectMeta, ObjectName, Resource, resource
from clientgo.operator import CacheScope, Context, Manager, Result
from clientgo.operator.mappers import MapContext
from clientgo.operator.predicates import data_changed, type_is
from clientgo.operator.status import ObservedGeneration
from clientgo.util.certificates import KeyPair, make_throw_away_pair
from examples.embedded import embedded, manager_of, run_on_your_cluster, see

TLS = "kubernetes.io/tls"
BY_SECRET = "spec.secretName"


class RouteSpec(Model):
    """A host, and the Secret with its certificate."""

    host: str = ""
    secret_name: str = ""


class RouteStatus(ObservedGeneration):
    """Which certificate is in use."""

    certificate: str = ""


@resource(group="example.com", version="v1", plural="routes")
class Route(Resource):
    """Lets traffic for a host in."""

    spec: RouteSpec = RouteSpec()
    status: RouteStatus | None = None


class RouteReconciler:
    """Notes the fingerprint of the certificate, where a real one would configure a proxy."""

    def setup(self, manager: Manager) -> None:
        manager.index(Route, BY_SECRET, lambda route: [route.spec.secret_name])

    def reconcile(self, ctx: Context[Route], route: Route) -> Result:
        secret = ctx.client.find(Secret, route.spec.secret_name, route.metadata.namespace)
        certificate = (secret.data or {}).get("tls.crt") if secret is not None else None
        if not certificate:
            ctx.events.warning("NoCertificate", f"Secret {route.spec.secret_name} has none")
        route.status = RouteStatus(
            certificate=fingerprint(certificate) if certificate else "missing"
        )
        return Result.status(route)


def routes_of(context: MapContext, secret: Secret) -> Iterable[ObjectName]:
    """The Routes that use a Secret."""
    routes = context.client.list(
        Route,
        namespace=secret.metadata.namespace,
        fields={BY_SECRET: secret.metadata.name},
    )
    return [ObjectName.of(route) for route in routes]


def new_manager(client: Client) -> Manager:
    # A cluster has many Secrets: only those of this type are cached.
    scope = CacheScope(fields=f"type={TLS}")
    manager = manager_of(client, "routes", cache_by_kind={Secret: scope})
    builder = manager.controller(Route)
    # Other Secrets, and changes of a label, are no business of ours.
    builder.watches(Secret, routes_of, predicate=type_is(TLS) & data_changed("data", "tls.crt"))
    builder.build(RouteReconciler())
    return manager


def demo() -> None:
    from clientgo.testing.observer import Observer

    first, second = (make_throw_away_pair(["example.com"], now=time.time())[1] for _ in range(2))
    with embedded(Route) as client:
        manager = new_manager(client)
        secrets = client.resource(Secret).namespace("default")
        routes = client.resource(Route).namespace("default")
        secrets.create(tls_secret("wildcard", first))
        for name in ("shop", "blog", "mail"):
            spec = RouteSpec(host=f"{name}.example.com", secret_name="wildcard")
            routes.create(Route(metadata=ObjectMeta(name=name), spec=spec))
        with manager, Observer(client, Route) as seen:
            listed = seen.lister(Route).namespace("default")

            def certificates() -> set[str]:
                return {route.status.certificate if route.status else "" for route in listed.list()}

            see(
                seen,
                "three routes use the first certificate",
                lambda: certificates() == {fingerprint(first.certificate)},
            )
            secrets.update(tls_secret("wildcard", second))
            see(
                seen,
                "one change of the Secret, and all of them use the second",
                lambda: certificates() == {fingerprint(second.certificate)},
            )


def tls_secret(name: str, pair: KeyPair) -> Secret:
    data = {"tls.crt": pair.certificate, "tls.key": pair.private_key}
    return Secret(metadata=ObjectMeta(name=name), type=TLS, data=data)


def fingerprint(certificate: bytes) -> str:
    return sha256(certificate).hexdigest()[:12]


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        run_on_your_cluster(new_manager, Route)
