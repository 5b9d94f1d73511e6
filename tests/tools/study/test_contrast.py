"""The colours of the page: text has a contrast of 4.5 at least, arrows of 3, light and dark."""

from __future__ import annotations

import re
from itertools import product

import pytest

from clientgo.tools.study.page import asset

Colours = dict[str, str]

SHEETS = ("study.css", "lesson.css")
GROUNDS = ("page", "panel", "inset", "lane", "here", "old", "new")
ON_COLOUR = [("accent-ink", "accent"), ("accent-ink", "held"), ("panel", "bad")]
"""Text that is only on one ground."""
KEYS = [f"key-{number}" for number in range(8)]

RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
TEXT_OF_SVG = re.compile(r"text|title|tag|fact|name")


def css() -> str:
    return "\n".join(str(asset(name)) for name in SHEETS)


def palettes() -> dict[str, Colours]:
    """Return the variables of the light and of the dark page, with their colours."""
    roots = re.findall(r":root \{(.*?)\}", css(), re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", root)) for root in roots)
    return {"light": light, "dark": light | dark}


def luminance(colour: str) -> float:
    """Return the relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lower, higher = sorted((luminance(one), luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def texts() -> set[str]:
    """Return the variables that colour text, other than on a colour of its own."""
    found = set()
    for selector, body in RULE.findall(css()):
        found.update(re.findall(r"(?<![-\w])color: var\(--([\w-]+)\)", body))
        if TEXT_OF_SVG.search(selector):
            found.update(re.findall(r"fill: var\(--([\w-]+)\)", body))
    return found - {text for text, _ in ON_COLOUR}


def low(pairs: list[tuple[str, str]], least: float, colours: Colours) -> list[str]:
    return [
        f"{text} on {ground}: {contrast(colours.get(text, text), colours[ground]):.2f}"
        for text, ground in pairs
        if contrast(colours.get(text, text), colours[ground]) < least
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_each_ground(scheme: str) -> None:
    colours = palettes()[scheme]
    assert {"ink", "muted", "accent", "bad", "held", "good"} <= texts()

    on_grounds = list(product(sorted(texts()), GROUNDS))
    on_keys = [("#ffffff", key) for key in KEYS]
    assert low([*on_grounds, *ON_COLOUR, *on_keys], 4.5, colours) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_arrows_and_pills_can_be_seen(scheme: str) -> None:
    pairs = [*product(["arrow"], ("page", "panel", "lane")), *product(KEYS, ("panel", "inset"))]

    assert low(pairs, 3.0, palettes()[scheme]) == []


def test_no_text_is_made_paler_than_its_colour() -> None:
    """What can't be used, what leaves, and a page whose program has ended may be pale."""
    pale = [
        selector.strip().splitlines()[-1]
        for selector, body in RULE.findall(css())
        if re.search(r"(?<![-\w])opacity: (0?\.\d+|0)\b", body)
    ]

    assert set(pale) <= {
        "button:disabled",
        ".gone #picture",
        ".pill.leaving",
        ".pointing .pill:not(.pointed), .pointing .comets",
    }
