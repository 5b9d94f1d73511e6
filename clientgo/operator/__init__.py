"""The operator layer: controllers in a few lines, on top of the other packages.

::

    Source ──► Predicate ──► Mapper ──► Controller's queue ──► Reconciler ──► Result
                                             ▲                     │ Context
                                             └── RetryPolicy ◄─────┘
    Manager: owns clients, caches, controllers, servers and leadership; starts and stops them

::

    @controller(Foo, owns=[Deployment])
    class FooReconciler:
        def reconcile(self, ctx, foo):
            ctx.client.create_or_update(ctx.own(deployment_of(foo)))
            foo.status.ready = True
            return Result.status(foo)

    manager = Manager()
    manager.register(FooReconciler())
    manager.run()

Here are the nouns. What they are made with is in modules of its own: ``sources``,
``change_events``, ``predicates``, ``mappers``, ``retry``, ``client``, ``cache``, ``finalizers``,
``status``, ``status_report``, ``webhooks``, ``errors``. ``addons`` has what can be left out.
"""

from clientgo.operator import retry
from clientgo.operator.cache import ALL, OWN, CacheScope
from clientgo.operator.context import Context
from clientgo.operator.controller import Controller
from clientgo.operator.controller.declaration import ControllerConfig, controller
from clientgo.operator.errors import OperatorError, Retry, TerminalError
from clientgo.operator.manager import (
    Cluster,
    LeaderElection,
    Manager,
    ManagerConfig,
    ManagerSettings,
)
from clientgo.operator.mappers import Mapper
from clientgo.operator.predicates import Predicate
from clientgo.operator.reconciler import KeyReconciler, Reconciler
from clientgo.operator.result import ErrorResult, Result
from clientgo.operator.runs.rate_limit import RateLimit
from clientgo.operator.sources import Source, watch

__all__ = [
    "Manager",
    "Controller",
    "Reconciler",
    "KeyReconciler",
    "Context",
    "Result",
    "ErrorResult",
    "Source",
    "Predicate",
    "Mapper",
    "retry",
    # declaring
    "controller",
    "watch",
    "ControllerConfig",
    "ManagerConfig",
    "ManagerSettings",
    "LeaderElection",
    "RateLimit",
    "Cluster",
    "CacheScope",
    "ALL",
    "OWN",
    # raised by reconcilers
    "OperatorError",
    "TerminalError",
    "Retry",
]
