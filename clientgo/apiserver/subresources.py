"""Subresources: ``status``, ``scale`` and what else hangs below an object.

Upstream: the ``rest`` storages of each resource, and apiextensions' for custom resources.
"""

from __future__ import annotations

from clientgo.apiserver.resources import Resource
from clientgo.apiserver.status_errors import method_not_allowed, resource_not_found
from clientgo.apiserver.verbs import OBJECT_VERBS, Verb


def subresource_verb(resource: Resource, name: str, method: str) -> Verb:
    """The handler for a method on a subresource.

    Raises:
        StatusError: 404 for an unknown one, 405 for a verb that it does not have.
    """
    subresource = resource.subresource(name)
    if subresource is None:
        raise resource_not_found()
    verb_name, verb = OBJECT_VERBS.get(method, ("", None))
    if verb is None or verb_name not in subresource.verbs:
        raise method_not_allowed()
    if name == "status":
        return verb
    raise method_not_allowed()
