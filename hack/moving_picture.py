"""Draw the moving picture at the top of the README: one change goes through the loop.

    python -m hack.moving_picture

It shows the hops of the recording that the documentation plays (`docs/assets/study.jsonl`), from
the scaling of a Foo to the end of its sync, with the keys, versions and answers of that run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import dropwhile
from typing import Any, Final

from clientgo.tools.study.recording import load_recording
from hack.site.links import DOCS
from hack.study_recording import RECORDING

PICTURE: Final = DOCS / "assets/one-change.svg"

SECONDS_A_STEP: Final = 2.0
_WIDTH, _HEIGHT = 860, 356
_PILL: Final = 96, 24

# The boxes: name, note, left, top, width, height.
_BOXES: Final = {
    "server": ("API server", "", 14, 44, 112, 238),
    "reflector": ("Reflector", "lists and watches", 186, 44, 132, 50),
    "fifo": ("DeltaFIFO", "changes in order", 362, 44, 132, 50),
    "informer": ("Informer", "takes each change", 538, 44, 132, 50),
    "handler": ("Handler", "adds a key", 714, 44, 132, 50),
    "cache": ("Indexer", "the cache", 538, 138, 132, 50),
    "queue": ("Work queue", "keys to sync", 714, 232, 132, 50),
    "worker": ("Worker", "runs your sync", 362, 232, 132, 50),
}
_ARROWS: Final = (
    "M126 69 H184",
    "M318 69 H360",
    "M494 69 H536",
    "M670 69 H712",
    "M604 94 V136",
    "M780 94 V230",
    "M714 257 H496",
    "M538 163 H428 V230",
    "M362 257 H128",
)
_STYLE: Final = """
.change { --ink: #1f2933; --soft: #52606d; --line: #627d98; --box: #ffffff; --ground: #f5f7fa;
 --object: #3949ab; --key: #9a3412; --write: #0f766e; font-family: system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .change { --ink: #e4e7eb; --soft: #a9b6c6; --line: #8a9bb0;
 --box: #1b2430; --ground: #11161f; --object: #5c6bc0; --key: #c2410c; --write: #0f766e; } }
.change .ground { fill: var(--ground); }
.change .box { fill: var(--box); stroke: var(--line); stroke-width: 1.3; }
.change .name { fill: var(--ink); font-size: 14px; font-weight: 600; text-anchor: middle; }
.change .note { fill: var(--soft); font-size: 11px; text-anchor: middle; }
.change .flow { fill: none; stroke: var(--line); stroke-width: 1.6;
 marker-end: url(#change-arrow); }
.change .head { fill: var(--line); }
.change .object rect, .change .read rect { fill: var(--object); }
.change .key rect { fill: var(--key); }
.change .write rect { fill: var(--write); }
.change .pill text { fill: #ffffff; font-size: 12px; font-weight: 600; text-anchor: middle; }
.change .said { fill: var(--ink); font-size: 15px; text-anchor: middle; }
.change .hop { font-family: ui-monospace, monospace; font-size: 13px; fill: var(--soft); }
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A hop, the sentence about it, and the box in which each pill is."""

    hop: str
    said: str
    pills: Mapping[str, str]


_PILLS: Final = {"object": "the object", "key": "its key", "read": "a read", "write": "a write"}
_CACHED: Final = {"object": "cache"}
_STEPS: Final = (
    Step(
        "study.action",
        "A user scales a Foo. The API server stores a new version of it.",
        {"object": "server"},
    ),
    Step(
        "watch.event",
        "The watch sends the change: {type} {key}, version {version}.",
        {"object": "reflector"},
    ),
    Step("fifo.append", "DeltaFIFO keeps it, after what came before.", {"object": "fifo"}),
    Step("fifo.pop", "The informer takes it.", {"object": "informer"}),
    Step("index.update", "First, the cache gets the new version.", _CACHED),
    Step(
        "handler.call",
        "Then your handler is called: {event} {key}. It does not act.",
        _CACHED | {"key": "handler"},
    ),
    Step(
        "queue.add",
        "It adds the key {key}. Ten changes of the Foo are one key.",
        _CACHED | {"key": "queue"},
    ),
    Step(
        "queue.get",
        "A worker takes the key. No other worker gets it meanwhile.",
        _CACHED | {"key": "worker"},
    ),
    Step(
        "sync.start",
        "Your sync reads the newest version from the cache.",
        _CACHED | {"key": "worker", "read": "worker"},
    ),
    Step(
        "request.sent",
        "It writes what differs: {method} {path}.",
        _CACHED | {"key": "worker", "write": "worker"},
    ),
    Step(
        "request.answered",
        "The API server stores it and answers {status}.",
        _CACHED | {"key": "worker", "write": "server"},
    ),
    Step(
        "queue.done",
        "The key is done. What was written comes back as the next change.",
        _CACHED,
    ),
)


def recorded_steps() -> list[tuple[Step, str]]:
    """Return the steps and their sentences, of the run that was recorded.

    Raises LookupError if the recording does not show the sync of a Foo that is scaled.
    """
    lines = map(json.loads, load_recording(RECORDING).lines())
    hops = dropwhile(lambda hop: hop.get("action") != "scale", lines)
    told = []
    for step in _STEPS:
        hop = next((one for one in hops if one["hop"] == step.hop), None)
        if hop is None:
            raise LookupError(f"after the Foo is scaled, {RECORDING} shows no {step.hop}")
        told.append((step, step.said.format_map(_shown(hop))))
    return told


def _shown(hop: dict[str, Any]) -> dict[str, Any]:
    resource = hop.get("path", "").partition("?")[0].partition("/namespaces/")[2]
    return hop | {"path": resource.partition("/")[2]}


def draw() -> str:
    """Return the picture, an SVG whose animation needs no script."""
    told = recorded_steps()
    boxes = "\n".join(_box(*box) for box in _BOXES.values())
    arrows = "\n".join(f'<path class="flow" d="{path}"/>' for path in _ARROWS)
    lines = "\n".join(
        f'<g class="step step-{number}"><text class="said" x="{_WIDTH // 2}" y="{_HEIGHT - 18}">'
        f"{escape(text)}</text></g>"
        for number, (_, text) in enumerate(told)
    )
    pills = "\n".join(_pill(kind, text) for kind, text in _PILLS.items())
    description = " ".join(text for _, text in told)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" class="picture change" viewBox="0 0 {_WIDTH} {_HEIGHT}" \
role="img" aria-labelledby="change-title change-text">
<title id="change-title">One change goes through the loop</title>
<desc id="change-text">{escape(description)}</desc>
<style>{_STYLE}{_motion([step for step, _ in told])}</style>
<defs><marker id="change-arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" \
markerHeight="7" orient="auto"><path class="head" d="M0 0 L10 5 L0 10 z"/></marker></defs>
<rect class="ground" width="{_WIDTH}" height="{_HEIGHT}" rx="10"/>
{arrows}
{boxes}
{pills}
{lines}
</svg>
"""


def _box(name: str, note: str, left: int, top: int, width: int, height: int) -> str:
    middle, centre = left + width // 2, top + height // 2
    return (
        f'<rect class="box" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>'
        f'<text class="name" x="{middle}" y="{centre - 4 if note else centre + 5}">{name}</text>'
        f'<text class="note" x="{middle}" y="{centre + 14}">{note}</text>'
    )


def _pill(kind: str, text: str) -> str:
    width, height = _PILL
    return (
        f'<g class="pill {kind}"><rect width="{width}" height="{height}" rx="{height // 2}"/>'
        f'<text x="{width // 2}" y="{height // 2 + 4}">{text}</text></g>'
    )


def _motion(steps: list[Step]) -> str:
    """Return the rules that move the pills and show one sentence at a time."""
    whole = SECONDS_A_STEP * len(steps)
    rules = []
    for pill in _PILLS:
        rules.append(f".change .{pill} {{ animation: change-{pill} {whole:g}s infinite; }}")
        rules.append(_moves(pill, [step.pills.get(pill, "") for step in steps]))
    share = 100 / len(steps)
    rules.append(
        "@keyframes change-said { 0% { opacity: 0; } 1% { opacity: 1; } "
        f"{share - 0.2:.2f}% {{ opacity: 1; }} {share:.2f}%, 100% {{ opacity: 0; }} }}"
    )
    for number in range(len(steps)):
        delay = SECONDS_A_STEP * number
        rules.append(
            f".change .step-{number} {{ opacity: 0; "
            f"animation: change-said {whole:g}s {delay:g}s infinite; }}"
        )
    last = len(steps) - 1
    rules.append(
        "@media (prefers-reduced-motion: reduce) { .change g { animation: none !important; } "
        f".change .pill {{ opacity: 0; }} .change .step-{last} {{ opacity: 1; }} }}"
    )
    return "\n".join(rules) + "\n"


def _moves(pill: str, places: list[str]) -> str:
    """Return the key frames of a pill: it rests in a box, then moves to the next one's."""
    share = 100 / len(places)
    frames = []
    for number, place in enumerate(places):
        shown = place or next(filter(None, places[number:] + places))
        left, top = _corner(shown, above=pill != "key")
        frame = f"{{ transform: translate({left}px, {top}px); opacity: {1 if place else 0}; }}"
        begin, end = share * (number + 0.3) if number else 0.0, share * (number + 1)
        frames.append(f"{begin:.2f}%, {end:.2f}% {frame}")
    return f"@keyframes change-{pill} {{ {' '.join(frames)} }}"


def _corner(place: str, *, above: bool) -> tuple[int, int]:
    """Return where a pill stands: above a box, or below it."""
    _, _, left, top, width, height = _BOXES[place]
    return left + (width - _PILL[0]) // 2, top - _PILL[1] - 6 if above else top + height + 6


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
