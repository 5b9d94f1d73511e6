"""Objects that are described rather than written: what belongs to a primary, and in which order.

    primary ──► Dependent.desired ──► matched? ──no──► apply ──► ready? ──► those that depend on it

Declare them with ``@controller(..., dependents=[...])`` or ``ControllerBuilder.dependents``. The
framework watches them, owns them, writes them before each ``reconcile``, and cleans up what the
garbage collector would not.

Source: Java Operator SDK ``processing.dependent`` and its workflows.
"""

from clientgo.operator.addons.dependents.dependent import Dependent
from clientgo.operator.addons.dependents.workflow import with_dependents
from clientgo.operator.context import DependentsOutcome

__all__ = ["Dependent", "DependentsOutcome", "with_dependents"]
