"""The closed set of errors that creating and applying patches can raise.

Promises: what is wrong with the patch itself and what is wrong with applying it to this document
are different types, because an API server answers the first with 400 and the second with 422.

Upstream: ``k8s.io/apimachinery/pkg/util/mergepatch`` (package-level error values, told apart by
identity there).
"""

from __future__ import annotations


class PatchError(ValueError):
    """A patch could not be created or applied."""


class MalformedPatchError(PatchError):
    """The patch or document is not of the form that its type requires, whatever it applies to.

    An API server answers 400 Bad Request.
    """


class InapplicablePatchError(PatchError):
    """The patch is well formed but does not fit this document.

    An API server answers 422 Unprocessable Entity.
    """


class PatchConflictError(PatchError):
    """A three-way patch would overwrite a change that somebody else made."""
