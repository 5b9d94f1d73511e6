"""Exercise 1: ten edits, how many syncs?

A Foo is created. While its first sync runs, the Foo is edited ten times. Each event calls a
handler, and each handler adds the key to the queue. Then the first sync ends.

Predict, then run: clientgo study check 1
"""

from __future__ import annotations

SYNCS: int | None = None
"""How often is the key synced, the first time included?"""

ADDS_THAT_CHANGED_SOMETHING: int | None = None
"""The handlers add the key eleven times. How many of those adds change anything in the queue?"""
