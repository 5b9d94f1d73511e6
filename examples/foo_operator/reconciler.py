"""The sample controller, written with the operator layer.

It does what ``sample_controller`` does and passes the same tests.
"""

from __future__ import annotations

from clientgo.api.apps_v1 import Deployment
from clientgo.meta import InvalidError, ObjectDecodeError
from clientgo.meta.owner_references import is_controlled_by
from clientgo.operator import Context, OperatorError, Result, TerminalError, controller, retry
from clientgo.operator.client import Change
from sample_controller.controller import new_deployment
from sample_controller.types import Foo, FooStatus


@controller(Foo, owns=[Deployment], name="sample-controller", retry=retry.workqueue())
class FooReconciler:
    """Keeps one Deployment per Foo at the replicas that the Foo asks for."""

    def reconcile(self, ctx: Context[Foo], foo: Foo) -> Result:
        try:
            deployment = self._deployment(ctx, foo)
        except (ObjectDecodeError, InvalidError) as error:
            ctx.events.warning("ErrInvalidFoo", str(error))
            raise TerminalError(f"the Foo is invalid: {error}") from error
        available = deployment.status.available_replicas if deployment.status else None
        foo.status = FooStatus(available_replicas=available or 0)
        ctx.events.normal("Synced", "Foo synced successfully")
        return Result.status(foo)

    def _deployment(self, ctx: Context[Foo], foo: Foo) -> Deployment:
        if not foo.spec.deployment_name:
            ctx.events.warning("ErrInvalidFoo", "spec.deploymentName must be set")
            raise TerminalError("spec.deploymentName must be set")
        wanted = new_deployment(foo)
        found = ctx.client.find(Deployment, wanted.metadata.name, wanted.metadata.namespace)
        if found is not None and not is_controlled_by(found, foo):
            message = f'Resource "{wanted.metadata.name}" already exists and is not managed by Foo'
            ctx.events.warning("ErrResourceExists", message)
            raise OperatorError(message)
        deployment, change = ctx.client.create_or_update(wanted)
        if change is not Change.UNCHANGED:
            ctx.log.info("deployment", change=change.value, deployment=deployment)
        return deployment
