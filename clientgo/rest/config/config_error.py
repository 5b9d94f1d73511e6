"""The error of a configuration."""

from __future__ import annotations

from clientgo.util.copies import CopyableError


class ConfigError(CopyableError):
    """The configuration does not lead to a server. The text says where it is wrong and what to do.

    ``path`` is the file concerned, empty where there is none. No text of it is a secret.
    """

    def __init__(self, problem: str, *, path: str = "", advice: str) -> None:
        where = f"{path}: " if path else ""
        super().__init__(f"{where}{problem}; {advice}")
        self.problem = problem
        self.path = path
        self.advice = advice
