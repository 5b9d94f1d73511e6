"""What importing the package loads and exports."""

from __future__ import annotations

import subprocess
import sys

import clientgo.cache


def test_importing_it_loads_neither_http_nor_the_kubernetes_package() -> None:
    """AIO-12: nor asyncio."""
    program = "import sys, clientgo.cache; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"kubernetes", "urllib3", "http", "ssl", "asyncio"} & set(loaded)


def test_every_public_name_is_there_once() -> None:
    assert len(set(clientgo.cache.__all__)) == len(clientgo.cache.__all__)
    for name in clientgo.cache.__all__:
        assert hasattr(clientgo.cache, name), name
