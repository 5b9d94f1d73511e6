"""The test suites of other clients do what `suites.yaml` says.

They run where `python -m tests.clients.suites` has put them, if CLIENTGO_SUITES names that
directory: they take minutes, and their packages are not among the development dependencies.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.clients.suites.suite import Suite, load_suites, run, source_of, unexpected

SUITES = load_suites()


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_the_suite_of_another_client_passes_but_for_what_is_explained(suite: Suite) -> None:
    directory = Path(os.environ.get("CLIENTGO_SUITES", ""))
    if not source_of(suite, directory).exists():
        pytest.skip("CLIENTGO_SUITES names no directory of `python -m tests.clients.suites`")

    assert unexpected(suite, run(suite, directory.resolve())) == []
