"""The closed set of errors that creating and applying patches can raise.

Promises: what is wrong with the patch itself and what is wrong with applying it to this document
are different types, because an API server answers them differently.

Upstream: ``k8s.io/apimachinery/pkg/util/mergepatch`` (package-level error values, told apart by
identity there).
"""

from __future__ import annotations

from clientgo.util.copies import CopyableError


class PatchError(CopyableError, ValueError):
    """A patch could not be created or applied."""


class MalformedPatchError(PatchError):
    """The patch or document is not of the form that its type requires, whatever it applies to.

    Kubernetes answers 400 Bad Request.
    """


class InapplicablePatchError(PatchError):
    """The patch is well formed but does not fit this document.

    Kubernetes answers 422 Unprocessable Entity to a JSON patch, 500 to a strategic merge patch.
    """


class UnprocessablePatchError(InapplicablePatchError):
    """A strategic merge patch has lists of lists. Kubernetes answers 422."""


class PatchTestError(InapplicablePatchError):
    """A ``test`` operation of a JSON patch does not hold."""
