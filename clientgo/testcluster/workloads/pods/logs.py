"""The logs of simulated containers: the text of their stages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.api.core_v1 import Pod
from clientgo.meta import Codec
from clientgo.testcluster.workloads.pods.stages import Rules


def log_of(rules: Rules, plain: Mapping[str, Any], container: str) -> str:
    """Return what a container has written: the text of the first rule that has one."""
    pod = Codec(Pod).decode(msgspec.json.encode(plain))
    text: str = rules.stage("logs", pod)
    values = {
        "name": pod.metadata.name,
        "namespace": pod.metadata.namespace,
        "node": pod.spec.node_name or "",
        "container": container,
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
