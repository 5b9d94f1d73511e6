"""The operator layer: controllers in a few lines, on the parts that the other rooms are.

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
"""

from clientgo.operator import retry
from clientgo.operator.builder import ControllerBuilder
from clientgo.operator.cache import (
    ALL,
    OWN,
    CacheScope,
    keep_keys,
    namespaces_from_env,
    strip_managed_fields,
)
from clientgo.operator.change_events import CreateEvent, DeleteEvent, GenericEvent, UpdateEvent
from clientgo.operator.client.cached_client import CachedClient
from clientgo.operator.client.differences import merge_from
from clientgo.operator.client.live_client import Change, LiveClient, ignore
from clientgo.operator.client.ownership import (
    controller_of,
    has_owner_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from clientgo.operator.context import Context
from clientgo.operator.controller import Controller
from clientgo.operator.controller_config import ControllerConfig
from clientgo.operator.declaration import controller
from clientgo.operator.errors import OperatorError, Retry, TerminalError
from clientgo.operator.finalizers import (
    Finalizers,
    add_finalizer,
    has_finalizer,
    remove_finalizer,
)
from clientgo.operator.manager import Manager
from clientgo.operator.manager.cluster import Cluster
from clientgo.operator.manager.config import LeaderElection, ManagerConfig
from clientgo.operator.mappers import (
    Key,
    Mapper,
    by_annotation,
    by_field,
    by_label,
    by_name,
    by_owner,
    owner_index,
)
from clientgo.operator.metrics_sink import MetricsSink
from clientgo.operator.predicates import (
    Predicate,
    annotations_changed,
    data_changed,
    generation_changed,
    generation_or_finalizers_changed,
    label_selector,
    labels_changed,
    resource_version_changed,
    type_is,
)
from clientgo.operator.rate_limit import RateLimit
from clientgo.operator.reconciler import KeyReconciler, Reconciler
from clientgo.operator.result import ErrorResult, Result
from clientgo.operator.sources import Source, channel, func, inbound, poll, watch
from clientgo.operator.status import (
    Condition,
    Conditioned,
    ObservedGeneration,
    object_reference,
    set_condition,
)
from clientgo.operator.status_report import (
    BestPracticeReporter,
    ReconcileStatus,
    StatusReporter,
)

__all__ = [
    # the nine nouns
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
    "ControllerBuilder",
    "ControllerConfig",
    "ManagerConfig",
    "LeaderElection",
    "MetricsSink",
    "RateLimit",
    "Cluster",
    "CacheScope",
    "strip_managed_fields",
    "keep_keys",
    "ALL",
    "OWN",
    "namespaces_from_env",
    "watch",
    "poll",
    "inbound",
    "channel",
    "func",
    # events
    "CreateEvent",
    "UpdateEvent",
    "DeleteEvent",
    "GenericEvent",
    "generation_changed",
    "generation_or_finalizers_changed",
    "resource_version_changed",
    "labels_changed",
    "annotations_changed",
    "label_selector",
    "data_changed",
    "type_is",
    "Key",
    "by_owner",
    "by_name",
    "by_label",
    "by_annotation",
    "by_field",
    "owner_index",
    # objects
    "CachedClient",
    "LiveClient",
    "Change",
    "merge_from",
    "ignore",
    "set_controller_reference",
    "set_owner_reference",
    "remove_owner_reference",
    "has_owner_reference",
    "controller_of",
    "Finalizers",
    "add_finalizer",
    "has_finalizer",
    "remove_finalizer",
    "ObservedGeneration",
    "ReconcileStatus",
    "StatusReporter",
    "BestPracticeReporter",
    "Condition",
    "Conditioned",
    "set_condition",
    "object_reference",
    # errors
    "OperatorError",
    "TerminalError",
    "Retry",
]
