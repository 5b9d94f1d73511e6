"""The ``clientgo`` command: one module for each of its parts.

``clientgo apiserver`` is in :mod:`clientgo.tools.cli.apiserver`, ``clientgo gen`` in
:mod:`clientgo.tools.cli.gen`, ``clientgo operator`` in :mod:`clientgo.tools.cli.operator`.
"""
