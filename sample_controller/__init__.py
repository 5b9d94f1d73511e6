"""A controller as a user writes it: it keeps one Deployment for each Foo.

Read :mod:`sample_controller.types` (what a Foo is), then :mod:`sample_controller.controller` (the
controller) and :mod:`sample_controller.__main__` (the program).
``docs/walkthrough/sample-controller.md`` reads them line by line.
"""
