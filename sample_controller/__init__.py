"""A controller as its user writes it: each Foo gets a Deployment with as many replicas.

Read :mod:`sample_controller.types` (what a Foo is), then :mod:`sample_controller.__main__` (how a
program is put together from the parts) and :mod:`sample_controller.controller` (the controller).
``docs/sample-controller.md`` goes along.
"""
