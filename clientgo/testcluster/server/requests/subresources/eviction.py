"""Evictions: deletions of pods that disruption budgets allow or refuse.

Promises: a budget's number of allowed disruptions falls with each eviction, in one step with the
check, so that no two evictions use the same one. Who raises the number (the disruption controller)
writes the budget's status.

Upstream: ``pkg/registry/core/pod/storage/eviction.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from clientgo.meta.selectors import SelectorError, selector_from_object
from clientgo.testcluster.server.http.messages import AnyResponse, value_response
from clientgo.testcluster.server.objects.options import SERVER_OPTIONS, DeleteOptions
from clientgo.testcluster.server.objects.storing import Target
from clientgo.testcluster.server.requests.options import read_delete_options, write_options
from clientgo.testcluster.server.requests.verbs import VerbCall, existing, read_body_as
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    forbidden,
    internal,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.resources.resource_type import ResourceType
from clientgo.testcluster.server.storage.storage import Object

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

_UNGUARDED = ("Succeeded", "Failed", "Pending")
"""Phases of pods that no budget counts."""

_MOST_DISRUPTED = 2_000
"""Evicted pods that a budget may wait for."""

_BUDGET = ResourceType("policy", "v1", "PodDisruptionBudget", "poddisruptionbudget")
"""As refusals name it."""

_RETRY_SECONDS = 10


async def evict(call: VerbCall) -> AnyResponse:
    """Delete a pod, if the disruption budget of the pod allows it.

    Raises:
        FailedRequestError: 429, the budget allows no disruption now.
    """
    create = write_options(call.request, "CreateOptions")
    eviction = await read_body_as(call, call.state.registry.bodies["Eviction"], create)
    if eviction["metadata"].get("name") != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = read_delete_options(eviction.get("deleteOptions") or {}, call.request)
    if create.dry_run:
        options = replace(options, dry_run=True)
    pod = call.resource.decode(await existing(call))
    if not _is_unguarded(pod):
        await _use_budget(call, pod, options)
    if not options.dry_run:
        await _mark_disrupted(call)
    await call.writer.delete(call.target, options)
    return value_response(_SUCCESS, call.representation.media_type, 201)


def _is_unguarded(pod: Object) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase in _UNGUARDED or "deletionTimestamp" in pod["metadata"]


async def _mark_disrupted(call: VerbCall) -> None:
    """Say in the pod's conditions why it goes."""
    now = call.state.timestamp()

    def marked(pod: Object) -> Object:
        status = pod.setdefault("status", {})
        others = [i for i in status.get("conditions") or () if i["type"] != "DisruptionTarget"]
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        status["conditions"] = [*others, target]
        return pod

    await call.writer.update(call.target, marked, SERVER_OPTIONS, "status")


# -- budgets


async def _use_budget(call: VerbCall, pod: Object, options: DeleteOptions) -> None:
    """Take one of the disruptions that the budget of the pod allows."""
    resource = call.state.registry.find("policy", "v1", "poddisruptionbudgets")
    if resource is None:
        return
    budgets = list(_budgets_of(call, resource, pod))
    if len(budgets) > 1:
        raise internal(
            "This pod has more than one PodDisruptionBudget, "
            "which the eviction subresource does not support."
        )
    if not budgets or _does_not_count(pod, budgets[0]):
        return
    now = call.state.timestamp()

    def used(budget: Object) -> Object:
        _check(budget)
        status = budget["status"]
        status["disruptionsAllowed"] -= 1
        status["disruptedPods"] = {**status.get("disruptedPods", {}), call.name: now}
        return budget

    target = Target(resource, call.namespace, budgets[0]["metadata"]["name"])
    await call.writer.update(
        target, used, replace(SERVER_OPTIONS, dry_run=options.dry_run), "status"
    )


def _budgets_of(call: VerbCall, resource: Resource, pod: Object) -> Iterator[Object]:
    """Yield the budgets that select a pod."""
    labels = pod["metadata"].get("labels", {})
    collection = call.state.storage.collection(resource.collection_key)
    for stored in collection.scan(call.namespace):
        budget = resource.decode(stored)
        selector = budget["spec"].get("selector")
        if selector is None:
            continue
        try:
            if selector_from_object(selector).matches(labels):
                yield budget
        except SelectorError:
            continue  # it selects nothing


def _does_not_count(pod: Object, budget: Object) -> bool:
    """Return True if a pod that is not ready may go without using the budget."""
    conditions = pod.get("status", {}).get("conditions") or ()
    if any(item["type"] == "Ready" and item["status"] == "True" for item in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    return bool(healthy >= wanted > 0)


def _check(budget: Object) -> None:
    """Refuse an eviction that a budget does not allow."""
    name, status = budget["metadata"]["name"], budget["status"]
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _too_many_requests(why, _RETRY_SECONDS)
    if allowed < 0:
        raise forbidden(_BUDGET, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods", {})) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(_BUDGET, name, why)
    if allowed == 0:
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        why = (
            f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        )
        raise _too_many_requests(why, 0)


def _too_many_requests(why: str, retry_after: int) -> FailedRequestError:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    headers: tuple[tuple[str, str], ...] = ()
    if retry_after:
        details["retryAfterSeconds"] = retry_after
        headers = (("retry-after", str(retry_after)),)
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return FailedRequestError(429, "TooManyRequests", message, details, headers)
