"""Stages: how the pods that a rule selects get from one phase of their life to the next.

::

    schedule ──► pull ──► (running) ──► ready ──► exit ──► restart, or the end
                                                terminate ──► gone

Promises that a file of rules is checked when it is read, with the name of what is wrong. The first
rule that matches a pod and has a stage decides that stage; what no rule says is as in
:data:`DEFAULTS`.

Upstream: kwok's stages, in words of pods instead of expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from clientgo.api.core_v1 import Pod
from clientgo.meta.decoding import convert
from clientgo.meta.owner_references import get_controller_of
from clientgo.meta.selectors import SelectorError, parse_label_selector
from clientgo.operator.errors import ConfigError
from clientgo.operator.settings.durations import parse_duration
from clientgo.testcluster.workloads.randomness import Randomness
from clientgo.util.text.yaml_reader import YamlError, read_yaml


class _Part(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """A part of a rule; a field that it does not have is an error."""


def _seconds(value: float | str) -> float:
    return parse_duration(value) if isinstance(value, str) else float(value)


class Stage(_Part):
    """When something happens: after ``delay`` and at most ``jitter`` more.

    Lengths of time are seconds, or text such as ``1.5s`` and ``2m``.
    """

    delay: float | str = 0.0
    jitter: float | str = 0.0

    def __post_init__(self) -> None:
        if min(_seconds(self.delay), _seconds(self.jitter)) < 0:
            raise ValueError("delay and jitter must not be negative")

    def seconds(self, pod: Pod, randomness: Randomness, attempt: int = 0) -> float:
        """Return how long this stage takes for a pod."""
        jitter = _seconds(self.jitter)
        if not jitter:
            return _seconds(self.delay)
        what = type(self).__name__, pod.metadata.namespace, pod.metadata.name, attempt
        return _seconds(self.delay) + jitter * randomness.fraction(*what)


class Schedule(Stage):
    """From the creation to the choice of a node."""


class Pull(Stage):
    """From the choice of a node to running containers; with ``error`` they never start.

    ``error`` is what the registry says, for example ``manifest unknown``.
    """

    error: str = ""


class Flap(_Part):
    """Every ``every`` the pod is not ready for ``lasting``."""

    every: float | str
    lasting: float | str

    def __post_init__(self) -> None:
        if min(_seconds(self.every), _seconds(self.lasting)) <= 0:
            raise ValueError("every and lasting must be greater than 0")

    def at(self, age: float) -> tuple[bool, float]:
        """Return whether a pod is ready, and for how long that stays so."""
        every, lasting = _seconds(self.every), _seconds(self.lasting)
        place = age % (every + lasting)
        return (True, every - place) if place < every else (False, every + lasting - place)


class Ready(Stage):
    """From running to ready; with ``never`` the readiness probe fails for ever."""

    never: bool = False
    flap: Flap | None = None


class Exit(Stage):
    """From running to the end of the containers, with an exit code.

    With ``times`` they end so often and run for ever after that. ``never`` lets them run, where
    another rule would end them.
    """

    code: int = 0
    times: int | None = None
    never: bool = False


class Terminate(Stage):
    """From the deletion to the end of the pod, its grace period at most."""


class Rule(_Part):
    """Stages of the pods that all of the conditions select; without conditions, of every pod.

    ``labels`` is a selector, ``namespace``, ``name`` and ``image`` are patterns with ``*``;
    ``owner`` is the kind of the controller, for example ``Job``. ``logs`` is what ``kubectl logs``
    prints; ``{name}``, ``{namespace}``, ``{node}`` and ``{container}`` are replaced.
    """

    labels: str = ""
    namespace: str = "*"
    name: str = "*"
    image: str = "*"
    owner: str = ""
    schedule: Schedule | None = None
    pull: Pull | None = None
    ready: Ready | None = None
    exit: Exit | None = None
    terminate: Terminate | None = None
    logs: str | None = None

    def __post_init__(self) -> None:
        try:
            parse_label_selector(self.labels)
        except SelectorError as error:
            raise ValueError(f"labels: {error}") from error

    def matches(self, pod: Pod, image: str | None = None) -> bool:
        """Return True if the rule is for a pod, or for one of its images."""
        metadata, owner = pod.metadata, get_controller_of(pod)
        images = [each.image or "" for each in pod.spec.containers] if image is None else [image]
        return (
            fnmatchcase(metadata.namespace, self.namespace)
            and fnmatchcase(metadata.name, self.name)
            and (not self.owner or (owner is not None and owner.kind == self.owner))
            and any(fnmatchcase(each, self.image) for each in images)
            and parse_label_selector(self.labels).matches(metadata.labels)
        )


class _File(_Part):
    rules: list[Rule] = field(default_factory=list)


DEFAULTS: Final = (
    Rule(owner="Job", exit=Exit(delay=1.0)),
    Rule(
        schedule=Schedule(),
        pull=Pull(delay=0.1, jitter=0.1),
        ready=Ready(),
        exit=Exit(never=True),
        terminate=Terminate(delay=0.1),
        logs="{container} runs in pod {namespace}/{name} on {node}\n",
    ),
)
"""Images are pulled in a moment, pods of Jobs succeed after a second, others run for ever."""


class Rules:
    """The rules of a simulation. Immutable."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self._rules = (*rules, *DEFAULTS)

    def stage(self, name: str, pod: Pod, image: str | None = None) -> Any:
        """Return what the first rule for the pod says of a stage."""
        for rule in self._rules:
            found = getattr(rule, name)
            if found is not None and rule.matches(pod, image):
                return found
        raise LookupError(f"the defaults have no stage {name}")


def load_rules(source: Path | str | None) -> list[Rule]:
    """Read rules from a file, or from the text of one.

    Raises:
        ConfigError: the file can't be read, or a part of it is wrong.
    """
    if source is None:
        return []
    try:
        text = source.read_bytes() if isinstance(source, Path) else source.encode()
        return convert(read_yaml(text)[0] or {}, _File).rules
    except (OSError, YamlError, msgspec.ValidationError) as error:
        where = f"{source}: " if isinstance(source, Path) else ""
        raise ConfigError(f"{where}{error}") from error
