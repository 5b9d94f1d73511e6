"""What belongs to a Database: password, address, servers and backups."""

from __future__ import annotations

import secrets
from typing import Final

from clientgo.api.apps_v1 import StatefulSet, StatefulSetSpec
from clientgo.api.batch_v1 import CronJob, CronJobSpec, JobSpec, JobTemplateSpec
from clientgo.api.core_v1 import (
    Container,
    ContainerPort,
    EmbeddedPersistentVolumeClaim,
    EnvVar,
    EnvVarSource,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    Secret,
    SecretKeySelector,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeMount,
    VolumeResourceRequirements,
)
from clientgo.api.meta_v1 import LabelSelector
from clientgo.meta import NotFoundError, ObjectMeta
from clientgo.operator import Context
from clientgo.operator.addons.dependents import Dependent
from examples.database.api import GROUP, Database

OURS: Final = {"app.kubernetes.io/managed-by": GROUP}
"""The labels of all objects of this operator. They limit the cache of Secrets."""

PASSWORD: Final = "password"
PORT: Final = 5432


class Password(Dependent[Secret, Database]):
    """A random password, which is made once."""

    kind = Secret
    labels = OURS

    def desired(self, ctx: Context[Database], database: Database) -> Secret:
        found = ctx.secondary(Secret) or self._at_the_server(ctx, database)
        known = (found.data or {}).get(PASSWORD) if found else None
        password = known or secrets.token_urlsafe(24).encode()
        return Secret(metadata=named(database), data={PASSWORD: password})

    def _at_the_server(self, ctx: Context[Database], database: Database) -> Secret | None:
        """Look for a Secret that the cache does not have, because a user removed its label."""
        try:
            return ctx.client.live.get(Secret, database.metadata.name, database.metadata.namespace)
        except NotFoundError:
            return None


class Address(Dependent[Service, Database]):
    """The headless Service that gives each server a name."""

    kind = Service

    def desired(self, ctx: Context[Database], database: Database) -> Service:
        ports = [ServicePort(name="sql", port=PORT, target_port=PORT)]
        spec = ServiceSpec(cluster_ip="None", selector=pod_labels(database), ports=ports)
        return Service(metadata=named(database), spec=spec)


class Servers(Dependent[StatefulSet, Database]):
    """The database servers, each with a volume."""

    kind = StatefulSet
    depends_on = (Password, Address)

    def desired(self, ctx: Context[Database], database: Database) -> StatefulSet:
        server = _container(database, "server")
        server.ports = [ContainerPort(name="sql", container_port=PORT)]
        server.volume_mounts = [VolumeMount(name="data", mount_path="/var/lib/postgresql")]
        volume = PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            resources=VolumeResourceRequirements(requests={"storage": database.spec.storage}),
        )
        claim = EmbeddedPersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=volume)
        pods = ObjectMeta(labels=pod_labels(database))
        spec = StatefulSetSpec(
            service_name=database.metadata.name,
            replicas=database.spec.replicas,
            selector=LabelSelector(match_labels=pod_labels(database)),
            template=PodTemplateSpec(metadata=pods, spec=PodSpec(containers=[server])),
            volume_claim_templates=[claim],
        )
        return StatefulSet(metadata=named(database), spec=spec)

    def ready(self, ctx: Context[Database], database: Database, actual: StatefulSet) -> bool:
        return ready_replicas(actual) >= 1


class Backups(Dependent[CronJob, Database]):
    """The backups, if there should be any. The first one needs a server."""

    kind = CronJob
    depends_on = (Servers,)

    def wanted(self, ctx: Context[Database], database: Database) -> bool:
        return database.spec.backup is not None

    def desired(self, ctx: Context[Database], database: Database) -> CronJob | None:
        backup = database.spec.backup
        if backup is None:
            return None
        dump = _container(database, "dump")
        dump.args = ["pg_dump", f"--host={database.metadata.name}"]
        pod = PodSpec(containers=[dump], restart_policy="OnFailure")
        job = JobTemplateSpec(spec=JobSpec(template=PodTemplateSpec(spec=pod)))
        spec = CronJobSpec(
            schedule=backup.schedule,
            successful_jobs_history_limit=backup.keep,
            concurrency_policy="Forbid",
            job_template=job,
        )
        return CronJob(metadata=named(database), spec=spec)


def ready_replicas(servers: StatefulSet | None) -> int:
    return (servers.status.ready_replicas if servers and servers.status else None) or 0


def named(database: Database) -> ObjectMeta:
    metadata = database.metadata
    return ObjectMeta(name=metadata.name, namespace=metadata.namespace, labels=OURS)


def pod_labels(database: Database) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "database",
        "app.kubernetes.io/instance": database.metadata.name,
    }


def _container(database: Database, name: str) -> Container:
    key = SecretKeySelector(name=database.metadata.name, key=PASSWORD)
    return Container(
        name=name,
        image=f"postgres:{database.spec.version}",
        env=[EnvVar(name="PGPASSWORD", value_from=EnvVarSource(secret_key_ref=key))],
    )
