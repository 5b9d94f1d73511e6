"""What the controller may do: no more than it does. ``deploy/rbac.yaml`` is written from this."""

from __future__ import annotations

from clientgo.api.apps_v1 import Deployment
from clientgo.api.coordination_v1 import Lease
from clientgo.api.core_v1 import Event
from clientgo.codegen.rbac import Permission
from sample_controller.types import Foo

NAME = NAMESPACE = "sample-controller"

IN_CLUSTER = (
    Permission(Foo, "list", "watch"),
    Permission(Foo, "update", subresource="status"),
    # Where owners are protected (the OwnerReferencesPermissionEnforcement plugin), whoever sets
    # blockOwnerDeletion must be allowed to hold up the owner's deletion.
    Permission(Foo, "update", subresource="finalizers"),
    Permission(Deployment, "list", "watch", "create", "update"),
    Permission(Event, "create", "patch"),
)
IN_OWN_NAMESPACE = (
    Permission(Lease, "create"),
    Permission(Lease, "get", "update", "watch", names=(NAME,)),
)
"""For leader election."""
