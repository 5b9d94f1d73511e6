"""Definitions that fit: into a request, and into kubectl's annotation."""

from __future__ import annotations

import pytest

from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.definition_size import (
    MAX_CLIENT_SIDE_APPLY,
    MAX_STORED,
    DefinitionTooLargeError,
    shorten_descriptions,
    size_warning,
)
from clientgo.meta import Model, Resource, resource


class NoteSpec(Model):
    """What is noted, at some length."""

    description: str = ""
    """Read by people."""
    lines: dict[str, list[str]] = {}


@resource(group="example.com", version="v1", plural="notes")
class Note(Resource):
    """A note."""

    spec: NoteSpec = NoteSpec()


def test_descriptions_are_cut_wherever_they_stand_and_a_field_of_that_name_stays() -> None:
    """OP-GEN-10"""
    definition = custom_resource_definition(Note)

    shorten_descriptions(definition, 6)

    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    assert (schema["description"], spec["description"]) == ("A note", "What i")
    assert spec["properties"]["description"] == {"description": "Read b", "type": "string"}


def test_no_description_is_left_if_none_may_be() -> None:
    """OP-GEN-10"""
    definition = custom_resource_definition(Note)

    shorten_descriptions(definition, 0)

    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "description" not in schema
    assert schema["properties"]["spec"]["properties"]["description"] == {"type": "string"}


def test_who_applies_a_large_definition_is_warned_and_one_that_nobody_stores_is_refused() -> None:
    """OP-GEN-10"""
    assert size_warning("notes", "x" * MAX_CLIENT_SIDE_APPLY) == ""
    assert "client-side" in size_warning("notes", "x" * (MAX_CLIENT_SIDE_APPLY + 1))
    with pytest.raises(DefinitionTooLargeError, match="notes has 1572865 bytes"):
        size_warning("notes", "x" * (MAX_STORED + 1))
