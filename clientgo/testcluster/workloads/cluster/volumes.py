"""Persistent volumes: each claim gets one, of no real storage.

A claim of a class with ``WaitForFirstConsumer`` waits for a pod. A claim of the class ``""`` or
with ``volumeName`` gets a volume that a user created.

Upstream: ``pkg/controller/volume/persistentvolume`` and a provisioner.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from clientgo.api.core_v1 import (
    HostPathVolumeSource,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    Pod,
)
from clientgo.api.storage_v1 import StorageClass
from clientgo.meta import (
    NotFoundError,
    ObjectMeta,
    ObjectName,
    everything,
    selector_from_object,
    to_plain,
)
from clientgo.operator import Context, Result, controller, watch
from clientgo.operator.errors import is_gone
from clientgo.operator.mappers import MapContext
from clientgo.testcluster.workloads.controllers.pod_facts import FINISHED
from clientgo.testcluster.workloads.status_writes import write_status
from clientgo.util.text.quantities import parse_quantity

_CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
_VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
_WAITS: Final = "WaitForFirstConsumer"


def _claims_of_pod(_context: MapContext, pod: Any) -> list[ObjectName]:
    namespace = pod.metadata.namespace
    return [
        ObjectName(namespace, volume.persistent_volume_claim.claim_name)
        for volume in pod.spec.volumes or ()
        if volume.persistent_volume_claim
    ]


def _claim_of_volume(context: MapContext, volume: Any) -> Iterable[ObjectName]:
    """Map a volume to its claim; a free one to every claim that waits."""
    reference = volume.spec.claim_ref
    if reference is not None:
        return [ObjectName(reference.namespace or "", reference.name or "")]
    claims = context.client.list(PersistentVolumeClaim)
    return [ObjectName.of(each) for each in claims if each.status.phase != "Bound"]


@controller(
    PersistentVolumeClaim,
    sources=[
        watch(Pod, mapper=_claims_of_pod),
        watch(PersistentVolume, mapper=_claim_of_volume),
    ],
    reads=[StorageClass],
    name="volumes",
)
class Volumes:
    """Binds claims, and ends the volumes of claims that are gone."""

    def reconcile_key(self, ctx: Context[PersistentVolumeClaim], key: ObjectName) -> Result | None:
        claim: PersistentVolumeClaim | None = ctx.obj
        volumes = ctx.client.list(PersistentVolume)
        uid = claim.metadata.uid if claim else ""
        mine = None
        for volume in volumes:
            reference = volume.spec.claim_ref
            if reference is None or (reference.namespace, reference.name) != key:
                continue
            if claim is not None and reference.uid in (None, "", uid):
                mine = volume
            else:
                _release(ctx, volume)
        if claim is None:
            return None
        if claim.metadata.deletion_timestamp:
            if not _is_used(ctx, claim):
                _unprotect(ctx, claim, _CLAIM_PROTECTION)
            return None
        if mine is None:
            mine = _free_volume(claim, volumes) or self._provisioned(ctx, claim)
        if mine is None:
            return None
        return _bind(ctx, claim, mine)

    def _provisioned(
        self, ctx: Context[PersistentVolumeClaim], claim: PersistentVolumeClaim
    ) -> PersistentVolume | None:
        """Return a new volume for a claim; None if it has to wait."""
        name = claim.spec.storage_class_name
        if name == "" or claim.spec.volume_name:
            return None
        found = ctx.client.find(StorageClass, name) if name else None
        if found is not None and found.volume_binding_mode == _WAITS and not _is_used(ctx, claim):
            return None
        policy = (found.reclaim_policy if found else None) or "Delete"
        return ctx.client.create(_new_volume(claim, name or "", policy))


@controller(PersistentVolume, name="volumeprotection", default_filter=False)
class VolumeProtection:
    """Lets a deleted volume go that no claim is bound to."""

    def reconcile_key(self, ctx: Context[PersistentVolume], _key: ObjectName) -> None:
        volume: PersistentVolume | None = ctx.obj
        if volume and volume.metadata.deletion_timestamp and volume.status.phase != "Bound":
            _unprotect(ctx, volume, _VOLUME_PROTECTION)


def _is_used(ctx: Context[Any], claim: PersistentVolumeClaim) -> bool:
    pods = ctx.client.list(Pod, namespace=claim.metadata.namespace)
    key = ObjectName.of(claim)
    return any(
        key in _claims_of_pod(MapContext(ctx.primary, None), pod)
        for pod in pods
        if pod.status.phase not in FINISHED
    )


def _free_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]
) -> PersistentVolume | None:
    """Return the smallest volume that a user created and that fits a claim."""
    wanted = parse_quantity(str((claim.spec.resources.requests or {}).get("storage", "0")))
    selector = everything()
    if claim.spec.selector is not None:
        selector = selector_from_object(to_plain(claim)["spec"]["selector"])
    fitting = []
    for volume in volumes:
        size = parse_quantity(str((volume.spec.capacity or {}).get("storage", "0")))
        name = claim.spec.volume_name
        if volume.spec.claim_ref is not None or (name and name != volume.metadata.name):
            continue
        if _kind_of(volume) != _kind_of(claim) or not selector.matches(volume.metadata.labels):
            continue
        modes = set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ())
        if modes and size >= wanted:
            fitting.append((size, volume.metadata.name, volume))
    return min(fitting)[2] if fitting else None


def _kind_of(obj: PersistentVolume | PersistentVolumeClaim) -> tuple[str, str, str]:
    """Return what a volume and its claim must have in common."""
    spec = obj.spec
    return (
        spec.storage_class_name or "",
        spec.volume_attributes_class_name or "",
        spec.volume_mode or "Filesystem",
    )


def _new_volume(claim: PersistentVolumeClaim, name: str, policy: str) -> PersistentVolume:
    volume = f"pvc-{claim.metadata.uid}"
    return PersistentVolume(
        metadata=ObjectMeta(
            name=volume, annotations={"pv.kubernetes.io/provisioned-by": "simulated"}
        ),
        spec=PersistentVolumeSpec(
            capacity=claim.spec.resources.requests,
            access_modes=claim.spec.access_modes,
            storage_class_name=name or None,
            volume_mode=claim.spec.volume_mode,
            persistent_volume_reclaim_policy=policy,
            claim_ref=_reference(claim),
            host_path=HostPathVolumeSource(path=f"/simulated/{volume}"),
        ),
    )


def _reference(claim: PersistentVolumeClaim) -> ObjectReference:
    metadata = claim.metadata
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
    )


def _bind(ctx: Context[Any], claim: PersistentVolumeClaim, volume: PersistentVolume) -> Result:
    """Make a volume and a claim name each other."""
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        volume = ctx.client.patch(
            volume,
            {
                "spec": {
                    "claimRef": {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "namespace": claim.metadata.namespace,
                        "name": claim.metadata.name,
                        "uid": claim.metadata.uid,
                    }
                }
            },
        )
    write_status(ctx.client, volume, replace(volume.status, phase="Bound"))
    status = replace(claim.status, phase="Bound", access_modes=volume.spec.access_modes)
    if claim.status.phase != "Bound":  # from then on, others change these
        status.capacity = volume.spec.capacity
        status.current_volume_attributes_class_name = volume.spec.volume_attributes_class_name
    changed = PersistentVolumeClaim(
        metadata=claim.metadata,
        spec=replace(claim.spec, volume_name=volume.metadata.name),
        status=status,
    )
    return Result.both(changed, optimistic=False)


def _unprotect(ctx: Context[Any], obj: Any, finalizer: str) -> None:
    """Let an object go that is not in use."""
    if finalizer in obj.metadata.finalizers:
        kept = [each for each in obj.metadata.finalizers if each != finalizer]
        try:
            ctx.client.patch(obj, {"metadata": {"finalizers": kept or None}})
        except NotFoundError as error:
            if not is_gone(error, obj.metadata.name):
                raise


def _release(ctx: Context[Any], volume: PersistentVolume) -> None:
    """Delete a volume whose claim is gone, or keep it for a user to look at."""
    if volume.spec.persistent_volume_reclaim_policy == "Delete":
        if not volume.metadata.deletion_timestamp:
            ctx.client.delete(volume)
        _unprotect(ctx, volume, _VOLUME_PROTECTION)
    else:
        write_status(ctx.client, volume, PersistentVolumeStatus(phase="Released"))
