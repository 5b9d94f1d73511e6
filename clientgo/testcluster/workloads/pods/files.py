"""The files that the volumes of a pod put into its containers.

Promises those of ConfigMaps, Secrets, the downward API and projected volumes, as they are when they
are read: also the token of a service account, which the API server issues for the pod.

Does not promise other volumes, directories, or fields of the downward API other than names, the
uid, labels and annotations.

Upstream: kubelet, ``pkg/volume/projected``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from clientgo.client import Client
from clientgo.meta import APIResource, NotFoundError
from clientgo.util.text.escapes import quoted

Plain = Mapping[str, Any]

_ACCOUNTS: Final = APIResource(
    group="", version="v1", kind="ServiceAccount", plural="serviceaccounts"
)
_CONFIG_MAPS: Final = APIResource(group="", version="v1", kind="ConfigMap", plural="configmaps")
_SECRETS: Final = APIResource(group="", version="v1", kind="Secret", plural="secrets")
_TOKEN_REQUEST: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}


class MountedFiles:
    """Reads files of containers. Thread-safe; a read asks the API server and blocks."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, pod: Plain, container: str, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: no volume has such a file.
        """
        [found] = [each for each in pod["spec"]["containers"] if each["name"] == container]
        mounts = [
            each
            for each in found.get("volumeMounts") or ()
            if f"{path}/".startswith(each["mountPath"].rstrip("/") + "/")
        ]
        if mounts:
            mount = max(mounts, key=lambda each: len(each["mountPath"]))
            below = path.removeprefix(mount["mountPath"].rstrip("/")).strip("/")
            name = "/".join(part for part in (mount.get("subPath", ""), below) if part)
            for volume in pod["spec"].get("volumes") or ():
                if volume["name"] == mount["name"]:
                    content = self._in_volume(pod, volume, name)
                    if content is not None:
                        return content
        raise FileNotFoundError(path)

    def _in_volume(self, pod: Plain, volume: Plain, name: str) -> bytes | None:
        if source := volume.get("configMap"):
            return self._in_config_map(pod, source, source["name"], name)
        if source := volume.get("secret"):
            return self._in_secret(pod, source, source["secretName"], name)
        if source := volume.get("downwardAPI"):
            return _in_fields(pod, source, name)
        for source in (volume.get("projected") or {}).get("sources") or ():
            content = self._projected(pod, source, name)
            if content is not None:
                return content
        return None

    def _projected(self, pod: Plain, source: Plain, name: str) -> bytes | None:
        if each := source.get("configMap"):
            return self._in_config_map(pod, each, each["name"], name)
        if each := source.get("secret"):
            return self._in_secret(pod, each, each["name"], name)
        if each := source.get("downwardAPI"):
            return _in_fields(pod, each, name)
        each = source.get("serviceAccountToken")
        return self._token(pod, each) if each and each["path"] == name else None

    def _in_config_map(self, pod: Plain, source: Plain, of: str, name: str) -> bytes | None:
        found = self._get(_CONFIG_MAPS, pod, of)
        key = _key(source, name)
        if key in (found.get("binaryData") or {}):
            return base64.b64decode(found["binaryData"][key])
        text = (found.get("data") or {}).get(key)
        return None if text is None else text.encode()

    def _in_secret(self, pod: Plain, source: Plain, of: str, name: str) -> bytes | None:
        text = (self._get(_SECRETS, pod, of).get("data") or {}).get(_key(source, name))
        return None if text is None else base64.b64decode(text)

    def _get(self, kind: APIResource, pod: Plain, name: str) -> Plain:
        objects = self._client.resource(kind).namespace(pod["metadata"]["namespace"])
        try:
            found: Plain = objects.get(name).to_dict()
        except NotFoundError:
            return {}
        return found

    def _token(self, pod: Plain, source: Plain) -> bytes:
        """Return a new token of the pod's account; kubelets keep one until it expires."""
        metadata = pod["metadata"]
        bound = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        spec: dict[str, Any] = {"boundObjectRef": bound}
        if source.get("expirationSeconds"):
            spec["expirationSeconds"] = source["expirationSeconds"]
        if source.get("audience"):
            spec["audiences"] = [source["audience"]]
        accounts = self._client.resource(_ACCOUNTS).namespace(metadata["namespace"])
        made = accounts.create(
            {**_TOKEN_REQUEST, "spec": spec},
            name=pod["spec"].get("serviceAccountName", "default"),
            subresource="token",
        )
        token: str = made.to_dict()["status"]["token"]
        return token.encode()


def _key(source: Plain, name: str) -> str:
    """Return the key whose value is the file of a name; empty if there is none."""
    items = source.get("items")
    if not items:
        return name
    return next((each["key"] for each in items if each["path"] == name), "")


def _in_fields(pod: Plain, source: Plain, name: str) -> bytes | None:
    for item in source.get("items") or ():
        if item["path"] == name:
            return _field(pod["metadata"], (item.get("fieldRef") or {}).get("fieldPath", ""))
    return None


def _field(metadata: Plain, path: str) -> bytes | None:
    name = path.removeprefix("metadata.")
    if name in ("name", "namespace", "uid"):
        return str(metadata[name]).encode()
    if name in ("labels", "annotations"):
        values = metadata.get(name) or {}
        return "\n".join(f"{key}={quoted(values[key])}" for key in sorted(values)).encode()
    return None
