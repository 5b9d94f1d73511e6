"""Parts of a type that the server does not check."""

from __future__ import annotations

from typing import Annotated

from clientgo.api.core_v1 import PodTemplateSpec
from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.manifests import manifest_text
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import UNCHECKED


class CheckedSpec(Model):
    template: PodTemplateSpec


class UncheckedSpec(Model):
    template: Annotated[PodTemplateSpec, UNCHECKED]


@resource(group="example.com", version="v1", plural="checkeds")
class Checked(Resource):
    spec: CheckedSpec


@resource(group="example.com", version="v1", plural="uncheckeds")
class Unchecked(Resource):
    spec: UncheckedSpec


def test_a_pod_template_is_checked_field_by_field_unless_it_is_marked() -> None:
    """OP-GEN-09"""

    def template(kind: type[Resource]) -> object:
        schema = custom_resource_definition(kind)["spec"]["versions"][0]["schema"]
        return schema["openAPIV3Schema"]["properties"]["spec"]["properties"]["template"]

    inlined = template(Checked)
    assert isinstance(inlined, dict)
    pod = inlined["properties"]["spec"]["properties"]
    assert pod["containers"]["items"]["properties"]["image"] == {"type": "string"}
    assert template(Unchecked) == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert "$ref" not in manifest_text([custom_resource_definition(Checked)])
