"""The ``clientgo`` command: one module for each of its parts.

``clientgo gen`` is in :mod:`clientgo.cli.gen`.
"""
