"""Tasks that live as long as an object, beside its runs.

::

    @controller(Site)
    class SiteReconciler:
        def reconcile(self, ctx, site): ...

        @timer(interval=60)
        async def measure(self, ctx, site): ...

        @daemon(restart_on_change=True)
        def follow(self, ctx, site):
            while ctx.wait(5):
                ...

A method, or a coroutine, for each object: a timer is called again and again, a daemon once. They
begin after the finalizer is on the object, and end before it is removed.
"""

from clientgo.operator.addons.tasks.declarations import TaskDeclaration, daemon, timer
from clientgo.operator.addons.tasks.supervisor import with_tasks

__all__ = ["TaskDeclaration", "daemon", "timer", "with_tasks"]
