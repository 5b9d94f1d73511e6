"""The permissions of the controller. ``deploy/rbac.yaml`` is generated from them."""

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
    # With the OwnerReferencesPermissionEnforcement plugin, a client that sets blockOwnerDeletion
    # needs this permission on the owner.
    Permission(Foo, "update", subresource="finalizers"),
    Permission(Deployment, "list", "watch", "create", "update"),
    Permission(Event, "create", "patch"),
)
IN_OWN_NAMESPACE = (
    Permission(Lease, "create"),
    Permission(Lease, "get", "update", "watch", names=(NAME,)),
)
"""For leader election."""
