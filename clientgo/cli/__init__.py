"""The ``clientgo`` command: one module for each of its parts.

``clientgo apiserver`` is in :mod:`clientgo.cli.apiserver`, ``clientgo gen`` in
:mod:`clientgo.cli.gen`, ``clientgo operator`` in :mod:`clientgo.cli.operator`.
"""
