"""Lessons: recorded runs of the sample controller, each with a question.

::

    scripts/NAME.py ─► stage ─► session ─► recording ─► run: counted, and checked ─► page

A script changes objects and breaks things, and waits for the hops that follow. So a lesson is
recorded again whenever the site is built, and it is played by ``clientgo study --lesson NAME`` with
a controller that runs.
"""
