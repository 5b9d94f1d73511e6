"""What to install where a package of an extra is missing.

Promises: code that needs an extra fails with one line that names it. Does not promise to check
anything before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtraError(ModuleNotFoundError):
    """A package is missing that comes with an extra of clientgo."""


@contextmanager
def needing_extra(extra: str, what: str) -> Iterator[None]:
    """Say which extra to install if an import in this block fails.

    ``what`` begins the message: "``what`` needs the package uvicorn". Raises
    :class:`MissingExtraError`.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "clientgo":
            raise  # no extra brings it
        raise MissingExtraError(
            f"{what} needs the package {error.name}: pip install 'clientgo[{extra}]'",
            name=error.name,
        ) from error
