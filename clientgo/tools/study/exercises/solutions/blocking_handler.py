"""Exercise 11: a handler that blocks.

An informer has two handlers. A Foo is added, and the first handler blocks in its call: it waits for
a server that does not answer. Then ten more Foos are added. Nothing else blocks.

Predict, then run: clientgo study check 11
"""

from __future__ import annotations

IN_THE_CACHE: int | None = 11
"""How many Foos does the cache have?"""

CALLS_OF_THE_HANDLER_THAT_BLOCKS: int | None = 1
"""How often has the first handler been called?"""

CALLS_OF_THE_OTHER_HANDLER: int | None = 11
"""How often has the second handler been called?"""
