"""``python -m examples.foo_operator``: run it against the cluster of the kubeconfig at hand."""

from __future__ import annotations

from clientgo.observe.logs import setup_logging
from clientgo.operator import Manager
from examples.foo_operator.reconciler import FooReconciler

if __name__ == "__main__":
    setup_logging()
    manager = Manager(name="foo-operator", workers=2)
    manager.register(FooReconciler())
    manager.run()
