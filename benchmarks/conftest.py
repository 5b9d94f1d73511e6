"""What the benchmarks found besides times: `extra_info`, printed below the tables."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    session = getattr(config, "_benchmarksession", None)
    found = [bench for bench in getattr(session, "benchmarks", []) if bench.extra_info]
    if not found:
        return
    terminalreporter.section("figures")
    for bench in found:
        figures = ", ".join(f"{value} {name}" for name, value in bench.extra_info.items())
        terminalreporter.write_line(f"{bench.name}: {figures}")
