"""The User-Agent header: `program/version (os/arch) kubernetes/commit`.

Server logs and metrics use this form. Source: client-go `rest` DefaultKubernetesUserAgent.
"""

from __future__ import annotations

import os
import platform
import sys

from clientgo import __version__

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "i686": "386"}
_SYSTEMS = {"win32": "windows"}
_COMMIT_LENGTH = 7


def user_agent(program: str, version: str, system: str, arch: str, commit: str) -> str:
    """The text for these parts; an empty one becomes ``unknown``."""
    release = version.partition("-")[0]
    return (
        f"{program or 'unknown'}/{release or 'unknown'} "
        f"({system or 'unknown'}/{arch or 'unknown'}) "
        f"kubernetes/{commit[:_COMMIT_LENGTH] or 'unknown'}"
    )


def default_user_agent(suffix: str = "") -> str:
    """The text for this process; ``suffix`` is appended after a slash, as a component's name."""
    machine = platform.machine()
    text = user_agent(
        _program(),
        __version__,
        _SYSTEMS.get(sys.platform, sys.platform),
        _ARCHITECTURES.get(machine, machine),
        "",
    )
    return f"{text}/{suffix}" if suffix else text


def _program() -> str:
    """The file that runs; of a package that runs (``python -m``), the package."""
    directory, name = os.path.split(sys.argv[0] if sys.argv else "")
    return os.path.basename(directory) if name == "__main__.py" else name
