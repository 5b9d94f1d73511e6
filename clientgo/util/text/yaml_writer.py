"""YAML that Kubernetes reads back as the same values.

Promises: a text is quoted if a reader would take it for something else (``1e3``, ``y``, ``0o17``,
``12:30``), by the rules of `yaml_reader`; repeated values are written in full. PyYAML alone quotes
by the rules of YAML 1.1 as it knows them, which are others.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Final

from clientgo.util.text.yaml_reader import is_plain_text

_ODD_BREAKS: Final = re.compile("[\r\x85\u2028\u2029]")
"""Line breaks that YAML would read back as others, unless they are escaped."""


def yaml_text(value: Any, *, for_people: bool = True) -> str:
    """Return a JSON value as YAML.

    ``for_people`` keeps the order of members, indents lists and writes a text of several lines as
    such; without it the text is as an API server writes it, by name, and is made faster.

    Raises:
        RecursionError: the value is nested too deeply.
        yaml.YAMLError: it holds what is no JSON value.
    """
    import yaml  # slow to import, and rarely needed

    if for_people:
        text: str = yaml.dump(
            value, Dumper=_dumper(for_people), sort_keys=False, allow_unicode=True, width=100
        )
    else:
        text = yaml.dump(value, Dumper=_dumper(for_people), sort_keys=True)
    return text


@functools.cache
def _dumper(for_people: bool) -> Any:
    import yaml

    base: Any = yaml.SafeDumper if for_people else getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            """Indent lists inside of mappings, which PyYAML asks not to."""
            super().increase_indent(flow, indentless and not for_people)

        def ignore_aliases(self, data: Any) -> bool:
            """Write repeated values in full: readers do not expect YAML anchors."""
            return True

    def represent(dumper: Any, text: str) -> Any:
        style = "|" if for_people and "\n" in text else None
        if _ODD_BREAKS.search(text) or (text and not is_plain_text(text)):
            style = '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return Dumper
