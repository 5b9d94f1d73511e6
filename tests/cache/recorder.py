"""An instrument for the tests of metrics."""

from __future__ import annotations


class Recorder:
    """An instrument that remembers."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.set = self.observe = self.values.append

    def inc(self, amount: float = 1.0, /) -> None: ...

    def dec(self, amount: float = 1.0, /) -> None: ...

    def remove(self) -> None: ...
