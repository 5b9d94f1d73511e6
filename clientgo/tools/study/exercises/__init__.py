"""Thirteen exercises with the loop of a controller: ``clientgo study start N``, ``check N``.

::

    template ──► the learner's file ──► check: runs it in a lab, reads the trace ──► report

``catalog`` lists them, ``templates`` and ``solutions`` hold their files. A check runs the file
against a small world without a server (``lab``), and compares what the trace says.
"""

from clientgo.tools.study.exercises.catalog import EXERCISES
from clientgo.tools.study.exercises.exercise import Exercise, ExerciseError, Finding, Outcome
from clientgo.tools.study.exercises.lab import Foo, Lab

__all__ = ["EXERCISES", "Exercise", "ExerciseError", "Finding", "Outcome", "Foo", "Lab"]
