"""Which objects a request means: label, field and shard selectors, and the labels themselves."""

from clientgo.meta.selectors.field_selectors import (
    FieldRequirement,
    FieldSelector,
    escape_field_value,
    field_equals,
    field_selector_from_fields,
    parse_field_selector,
    unescape_field_value,
)
from clientgo.meta.selectors.field_values import field_reader, selects_object
from clientgo.meta.selectors.label_requirements import (
    Operator,
    ProblemReason,
    Requirement,
    SelectorError,
)
from clientgo.meta.selectors.label_selector_objects import selector_from_object
from clientgo.meta.selectors.label_selectors import (
    Selector,
    everything,
    nothing,
    parse_label_selector,
    selector_from_labels,
)
from clientgo.meta.selectors.labels import (
    format_labels,
    label_key_problems,
    label_value_problems,
)
from clientgo.meta.selectors.shard_selectors import (
    ShardSelector,
    parse_shard_selector,
    shard_range,
)

__all__ = [
    "FieldRequirement",
    "FieldSelector",
    "escape_field_value",
    "field_equals",
    "field_selector_from_fields",
    "parse_field_selector",
    "unescape_field_value",
    "field_reader",
    "selects_object",
    "Operator",
    "ProblemReason",
    "Requirement",
    "SelectorError",
    "selector_from_object",
    "Selector",
    "everything",
    "nothing",
    "parse_label_selector",
    "selector_from_labels",
    "ShardSelector",
    "parse_shard_selector",
    "shard_range",
    "format_labels",
    "label_key_problems",
    "label_value_problems",
]
