"""What the benchmarks found besides times: `extra_info`.

Each figure is printed as soon as it is measured, and all of them again below the tables.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    benchmark = getattr(item, "funcargs", {}).get("benchmark")
    reporter = item.config.pluginmanager.get_plugin("terminalreporter")
    if benchmark is not None and reporter is not None:
        for name, value in benchmark.extra_info.items():
            reporter.write_line(f"{item.name}: {value} {name}")
    return result


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
