"""What the levels of Pod Security allow pods, version by version."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.admission.plugins.pod_security.checks import violations

Object = dict[str, Any]

HARDENED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
HARDENED_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
ARMOR = "container.apparmor.security.beta.kubernetes.io"
SECCOMP = "seccomp.security.alpha.kubernetes.io"

CAPABILITIES = [
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
]
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
SYSCTLS = {
    0: [
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
        *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    ],
    27: ["net.ipv4.ip_local_reserved_ports"],
    29: [
        *("net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout"),
        *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
    ],
    32: ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"],
    99: ["net.ipv4.tcp_slow_start_after_idle"],
}


def container(name: str = "c", **security: Any) -> Object:
    return {"name": name, "securityContext": {**HARDENED, **security}}


def pod(*containers: Object, annotations: Object | None = None, **spec: Any) -> Object:
    """A pod that every level allows, but for what is given."""
    usual = {"securityContext": HARDENED_POD, "containers": containers or [container()]}
    return {"metadata": {"annotations": annotations or {}}, "spec": {**usual, **spec}}


def of_pod(**security: Any) -> Object:
    return pod(securityContext={**HARDENED_POD, **security})


def of_container(**security: Any) -> Object:
    return pod(container(**security))


def probing(**fields: Any) -> Object:
    return pod({**container(), **fields})


def mounting(**sources: Object) -> Object:
    """A pod with a volume for each source, named by numbers."""
    volumes = [
        {"name": f"v{number}", kind: source}
        for number, (kind, source) in enumerate(sources.items(), 1)
    ]
    return pod(volumes=volumes)


def said(level: str, version: int, item: Object) -> str:
    return ", ".join(map(str, violations(level, version, item)))


# Each with what it is refused for; "" is allowed.

BASELINE: list[tuple[Object, str]] = [
    (pod(), ""),
    # AppArmor
    (of_pod(appArmorProfile={"type": "RuntimeDefault"}), ""),
    (of_container(appArmorProfile={"type": "Localhost", "localhostProfile": "x"}), ""),
    (pod(annotations={f"{ARMOR}/c": "localhost/x"}), ""),
    (pod(annotations={f"{ARMOR}/c": "runtime/default", f"{ARMOR}/d": ""}), ""),
    (
        of_pod(appArmorProfile={"type": "Unconfined"}),
        'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    ),
    (
        pod(
            container("a", appArmorProfile={"type": "Unconfined"}),
            container("b"),
            annotations={f"{ARMOR}/b": "unconfined"},
        ),
        'forbidden AppArmor profiles (container "a" and annotation must not set AppArmor profile '
        f'type to "Unconfined", "{ARMOR}/b="unconfined"")',
    ),
    # capabilities
    (of_container(capabilities={"drop": ["ALL"], "add": CAPABILITIES}), ""),
    (
        pod(
            container("a", capabilities={"add": ["SYS_TIME", "KILL", "NET_RAW"]}),
            container("b", capabilities={"add": ["NET_RAW"]}),
        ),
        'non-default capabilities (containers "a", "b" must not include "NET_RAW", "SYS_TIME" in '
        "securityContext.capabilities.add)",
    ),
    # namespaces of the host
    (pod(hostNetwork=False), ""),
    (pod(hostIPC=True), "host namespaces (hostIPC=true)"),
    (
        pod(hostNetwork=True, hostPID=True, hostIPC=True),
        "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
    ),
    # volumes of the host
    (mounting(nfs={"server": "s", "path": "/"}), ""),
    (mounting(hostPath={"path": "/x"}), 'hostPath volumes (volume "v1")'),
    (
        pod(volumes=[{"name": name, "hostPath": {"path": "/"}} for name in ("y", "x")]),
        'hostPath volumes (volumes "y", "x")',
    ),
    # ports of the host
    (probing(ports=[{"containerPort": 80, "hostPort": 0}]), ""),
    (probing(ports=[{"hostPort": 80}]), 'hostPort (container "c" uses hostPort 80)'),
    (
        pod(
            {**container("b"), "ports": [{"hostPort": 9}, {"hostPort": 10}]},
            initContainers=[{**container("a"), "ports": [{"hostPort": 10}]}],
        ),
        'hostPort (containers "a", "b" use hostPorts 10, 9)',
    ),
    # hosts of probes
    (probing(livenessProbe={"httpGet": {"host": "", "port": 80}}), ""),
    (
        probing(startupProbe={"tcpSocket": {"host": "h", "port": 80}}),
        'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    ),
    (
        pod(
            {**container("a"), "lifecycle": {"preStop": {"httpGet": {"host": "h"}}}},
            initContainers=[{**container("b"), "readinessProbe": {"httpGet": {"host": "g"}}}],
        ),
        'probe or lifecycle host (containers "a", "b" use probe or lifecycle hosts "g", "h")',
    ),
    # privileged
    (of_container(privileged=False), ""),
    (
        pod(ephemeralContainers=[container("debug", privileged=True)]),
        'privileged (container "debug" must not set securityContext.privileged=true)',
    ),
    # procMount
    (of_container(procMount="Default"), ""),
    (pod(container(procMount="Unmasked"), hostUsers=False), ""),
    (
        pod(container(procMount="Unmasked"), hostUsers=True),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ),
    # SELinux
    (of_pod(seLinuxOptions={"level": "s0"}), ""),
    (of_container(seLinuxOptions={"type": "container_engine_t", "user": "", "role": ""}), ""),
    (
        of_pod(seLinuxOptions={"type": "spc_t"}),
        'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t")',
    ),
    (
        pod(
            container("a", seLinuxOptions={"user": "u"}),
            container("b", seLinuxOptions={"role": "r", "type": "b_t"}),
            securityContext={**HARDENED_POD, "seLinuxOptions": {"user": "u"}},
        ),
        'seLinuxOptions (pod and containers "a", "b" set forbidden securityContext.seLinuxOptions: '
        'type "b_t"; user may not be set; role may not be set)',
    ),
    (
        of_pod(seLinuxOptions={"role": "r"}),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: role may not be set)",
    ),
    # seccomp
    (of_pod(seccompProfile={"type": "Localhost"}), ""),
    (pod(annotations={f"{SECCOMP}/pod": "unconfined"}), ""),
    (
        pod(
            container(seccompProfile={"type": "Unconfined"}),
            securityContext={**HARDENED_POD, "seccompProfile": {"type": "Unconfined"}},
        ),
        'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to '
        '"Unconfined")',
    ),
    # sysctls
    (of_pod(sysctls=[{"name": "net.ipv4.tcp_rmem"}]), ""),
    (
        of_pod(sysctls=[{"name": "kernel.sem"}, {"name": "kernel.shm_rmid_forced"}, {"name": "a"}]),
        "forbidden sysctls (kernel.sem, a)",
    ),
    # processes of a Windows host
    (of_pod(windowsOptions={"hostProcess": False}), ""),
    (
        of_pod(windowsOptions={"hostProcess": True}),
        "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
    ),
    (
        of_container(windowsOptions={"hostProcess": True}),
        'hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    ),
    # what is restricted only
    (of_container(allowPrivilegeEscalation=True, runAsUser=0, runAsNonRoot=False), ""),
]

RESTRICTED: list[tuple[Object, str]] = [
    (pod(), ""),
    # privilege escalation
    (
        pod({"name": "a", "securityContext": {"capabilities": {"drop": ["ALL"]}}}),
        "allowPrivilegeEscalation != false "
        '(container "a" must set securityContext.allowPrivilegeEscalation=false)',
    ),
    (
        pod(*(container(name, allowPrivilegeEscalation=True) for name in "ab")),
        "allowPrivilegeEscalation != false "
        '(containers "a", "b" must set securityContext.allowPrivilegeEscalation=false)',
    ),
    # capabilities
    (of_container(capabilities={"drop": ["KILL", "ALL"], "add": ["NET_BIND_SERVICE"]}), ""),
    (
        of_container(capabilities={"drop": ["KILL"]}),
        'unrestricted capabilities (container "c" must set '
        'securityContext.capabilities.drop=["ALL"])',
    ),
    (
        pod(
            container("a", capabilities={"drop": ["ALL"], "add": ["CHOWN"]}),
            container("b", capabilities={"add": ["NET_RAW"]}),
        ),
        'unrestricted capabilities (container "b" must set securityContext.capabilities.drop='
        '["ALL"]; containers "a", "b" must not include "CHOWN", "NET_RAW" in '
        "securityContext.capabilities.add)",
    ),
    # procMount
    (of_container(procMount="Default"), ""),
    (
        of_container(procMount="Unmasked"),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ),
    (
        pod(container(procMount="Unmasked"), hostUsers=False),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ),
    # volumes
    (
        mounting(
            configMap={},
            csi={},
            downwardAPI={},
            emptyDir={},
            ephemeral={},
            image={},
            persistentVolumeClaim={},
            projected={},
            secret={},
        ),
        "",
    ),
    (
        mounting(hostPath={"path": "/"}),
        'restricted volume types (volume "v1" uses restricted volume type "hostPath")',
    ),
    (
        mounting(nfs={}, emptyDir={}, iscsi={}),
        'restricted volume types (volumes "v1", "v3" use restricted volume types "iscsi", "nfs")',
    ),
    # root
    (
        pod(
            container(runAsNonRoot=True), securityContext={"seccompProfile": {"type": "Localhost"}}
        ),
        "",
    ),
    (pod(hostUsers=False, securityContext={"seccompProfile": {"type": "Localhost"}}), ""),
    (
        pod(
            container("a", runAsNonRoot=True),
            container("b"),
            securityContext={"seccompProfile": {"type": "Localhost"}},
        ),
        'runAsNonRoot != true (pod or container "b" must set securityContext.runAsNonRoot=true)',
    ),
    (
        pod(
            container("a", runAsNonRoot=False),
            container("b"),
            securityContext={**HARDENED_POD, "runAsNonRoot": False},
        ),
        'runAsNonRoot != true (pod and container "a" must not set '
        "securityContext.runAsNonRoot=false)",
    ),
    (of_pod(runAsUser=1), ""),
    (pod(container(runAsUser=0), hostUsers=False), ""),
    (of_pod(runAsUser=0), "runAsUser=0 (pod must not set runAsUser=0)"),
    (of_container(runAsUser=0), 'runAsUser=0 (container "c" must not set runAsUser=0)'),
    # seccomp
    (
        pod(
            container(seccompProfile={"type": "RuntimeDefault"}),
            securityContext={"runAsNonRoot": True},
        ),
        "",
    ),
    (
        pod(securityContext={"runAsNonRoot": True}),
        'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to '
        '"RuntimeDefault" or "Localhost")',
    ),
    (
        of_pod(seccompProfile={"type": "Unconfined"}),
        'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ),
    (
        of_container(seccompProfile={"type": "Unconfined"}),
        'seccompProfile (container "c" must not set securityContext.seccompProfile.type to '
        '"Unconfined")',
    ),
    # Windows has none of these
    (
        pod(
            {"name": "c"},
            os={"name": "windows"},
            securityContext={"runAsNonRoot": True},
        ),
        "",
    ),
    (
        pod(
            {"name": "c"},
            os={"name": "linux"},
            securityContext={**HARDENED_POD},
        ),
        'allowPrivilegeEscalation != false (container "c" must set '
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" '
        'must set securityContext.capabilities.drop=["ALL"])',
    ),
    # baseline is checked first
    (
        pod({**container(runAsUser=0), "ports": [{"hostPort": 1}]}, hostPID=True),
        'host namespaces (hostPID=true), hostPort (container "c" uses hostPort 1), runAsUser=0 '
        '(container "c" must not set runAsUser=0)',
    ),
]


@pytest.mark.parametrize(("item", "expected"), BASELINE)
def test_baseline(item: Object, expected: str) -> None:
    assert said("baseline", 36, item) == expected
    assert said("privileged", 36, item) == ""


@pytest.mark.parametrize(("item", "expected"), RESTRICTED)
def test_restricted(item: Object, expected: str) -> None:
    assert said("restricted", 36, item) == expected


BARE = pod({"name": "c"}, securityContext={})
ROOT = pod(container(runAsUser=0))
UNMASKED = pod(container(procMount="Unmasked"), hostUsers=False)


def refusing(level: str, item: Object) -> list[int]:
    """The versions of a level that refuse a pod."""
    return [version for version in range(37) if said(level, version, item)]


@pytest.mark.parametrize(
    ("level", "item", "first", "last"),
    [
        ("baseline", probing(livenessProbe={"httpGet": {"host": "h"}}), 34, 36),
        ("baseline", UNMASKED, 0, 34),
        ("restricted", UNMASKED, 0, 36),
        ("baseline", of_pod(seLinuxOptions={"type": "container_t"}), 0, -1),
        ("baseline", of_pod(seLinuxOptions={"type": "container_init_t"}), 0, -1),
        ("baseline", of_pod(seLinuxOptions={"type": "container_kvm_t"}), 0, -1),
        ("baseline", of_pod(seLinuxOptions={"type": ""}), 0, -1),
        ("baseline", pod(annotations={f"{SECCOMP}/pod": "runtime/default"}), 0, -1),
        ("baseline", pod(annotations={f"{SECCOMP}/pod": "docker/default"}), 0, -1),
        ("baseline", pod(annotations={f"{SECCOMP}/pod": "localhost/x"}), 0, -1),
        ("baseline", of_pod(seLinuxOptions={"type": "container_engine_t"}), 0, 30),
        ("baseline", pod(annotations={f"{SECCOMP}/pod": "unconfined"}), 0, 18),
        ("restricted", pod(annotations={f"container.{SECCOMP}/c": ""}), 0, 18),
        ("baseline", of_pod(seccompProfile={"type": "Unconfined"}), 19, 36),
        (
            "restricted",
            pod({"name": "c", "securityContext": {"capabilities": {"drop": ["ALL"]}}}),
            8,
            36,
        ),
        ("restricted", of_container(capabilities={}), 22, 36),
        ("restricted", pod(securityContext={"runAsNonRoot": True}), 19, 36),
        ("restricted", ROOT, 23, 36),
        ("restricted", pod(container(runAsUser=0), hostUsers=False), 23, 34),
        ("restricted", pod(securityContext={**HARDENED_POD, "runAsNonRoot": False}), 0, 36),
        ("restricted", pod(container(runAsNonRoot=False), hostUsers=False), 0, 34),
        ("restricted", pod({"name": "c"}, os={"name": "windows"}), 8, 24),
        ("restricted", pod(os={"name": "windows"}, securityContext={"runAsNonRoot": True}), 19, 24),
        ("restricted", pod(container(capabilities={}), os={"name": "windows"}), 22, 24),
    ],
)
def test_versions(level: str, item: Object, first: int, last: int) -> None:
    """A pod is refused from the first version to the last one."""
    assert refusing(level, item) == [*range(first, last + 1)]


def test_a_later_version_is_as_the_latest_one() -> None:
    assert said("baseline", 99, UNMASKED) == ""
    assert said("restricted", 99, BARE) == said("restricted", 36, BARE) != ""


@pytest.mark.parametrize("since", SYSCTLS)
def test_the_versions_that_allow_a_sysctl(since: int) -> None:
    for name in SYSCTLS[since]:
        assert refusing("baseline", of_pod(sysctls=[{"name": name}])) == [*range(37)][:since]


@pytest.mark.parametrize("action", ["httpGet", "tcpSocket"])
def test_each_host_of_a_container_is_found(action: str) -> None:
    handler = {action: {"host": "h", "port": 1}}
    hooks = ({"lifecycle": {hook: handler}} for hook in ("postStart", "preStop"))

    for fields in (*({probe: handler} for probe in PROBES), *hooks):
        assert refusing("baseline", probing(**fields)) == [34, 35, 36]


def test_annotations_of_seccomp_are_shown() -> None:
    item = pod(annotations={f"{SECCOMP}/pod": 'a"b', f"container.{SECCOMP}/c": ""})

    assert said("baseline", 18, item) == (
        f'seccompProfile (forbidden annotations container.{SECCOMP}/c="", {SECCOMP}/pod="a\\"b")'
    )


def test_a_check_has_the_place_of_its_level() -> None:
    """Until 1.34, the check of procMount is one of baseline, and comes first."""
    item = pod(container(procMount="Unmasked", allowPrivilegeEscalation=True))

    assert said("restricted", 34, item).startswith("procMount")
    assert said("restricted", 35, item).startswith("allowPrivilegeEscalation")
