"""The kind that the page on code generation begins with: it stands there as it is, and it works."""

from __future__ import annotations

import yaml

from clientgo.testcluster.schema import StructuralSchema
from tests.examples.running import ROOT, printed_by

EXAMPLE = ROOT / "examples" / "own_kind.py"


def test_the_page_shows_the_example_as_it_is() -> None:
    page = (ROOT / "docs" / "library" / "codegen.md").read_text()

    assert f"```python\n{EXAMPLE.read_text()}```" in page


def test_it_prints_a_definition() -> None:
    definition = yaml.safe_load("\n".join(printed_by("own_kind.py")))

    (version,) = definition["spec"]["versions"]
    StructuralSchema.parse(version["schema"]["openAPIV3Schema"])


def test_good_objects_are_stored_and_bad_ones_are_told_why() -> None:
    good, turned_around, twice = printed_by("own_kind.py", "--demo")

    assert good == "good: created with up to 3 replicas"
    assert turned_around.endswith("minReplicas must not exceed maxReplicas")
    assert "Duplicate value" in twice
