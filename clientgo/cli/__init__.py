"""The ``clientgo`` command: one module for each of its parts.

``clientgo gen`` is in :mod:`clientgo.cli.gen`, ``clientgo operator`` in
:mod:`clientgo.cli.operator`.
"""
