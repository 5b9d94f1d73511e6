"""What the generated modules are made of: their base class and the scalars of the API.

Promises: a type accepts all that the API's schema allows for it, and writes what was given.
Does not promise arithmetic: times and quantities stay the API's own text, as in
:class:`~clientgo.meta.ObjectMeta`; :mod:`clientgo.meta.timestamps` converts times.

Differs from client-go (``k8s.io/api``), where an absent field reads as Go's zero value: here a
field that was not sent is ``None``, so that "0 replicas" and "replicas not said" differ without
pointers. ``None`` is not sent; nothing else is left out. The parts that Go's types always hold
are there without being asked for, as there: ``deployment.status``, ``container.resources``. So
is a list or mapping that the API requires; a server may still send null for it, and then it reads
as empty.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from clientgo.meta import Model
from clientgo.meta.markers import Flag, Format

Quantity: TypeAlias = Annotated[str | int | float, Flag.QUANTITY]
"""An amount with a unit: ``"500m"``, ``"1Gi"``. A server answers with text; numbers may be sent.
:class:`clientgo.meta.Quantity` compares and adds amounts."""

IntOrString: TypeAlias = int | str
"""A number or a text that stands for one: a port or its name, a count or a percentage."""

Time: TypeAlias = Annotated[str, Format("date-time")]
"""An RFC 3339 instant in whole seconds: ``"2026-01-02T03:04:05Z"``."""

MicroTime: TypeAlias = Annotated[str, Format("date-time")]
"""An RFC 3339 instant with six decimals: ``"2026-01-02T03:04:05.000000Z"``."""

Int32: TypeAlias = Annotated[int, Format("int32")]
"""A whole number of which the server takes 32 bits."""

JSON: TypeAlias = Any
"""Any JSON value."""


class APIModel(Model, gc=False):
    """Base of the generated parts of objects.

    The cyclic garbage collector does not visit them: parsed from JSON, they cannot form a cycle.
    """
