"""Where Python meets the library: processes, mistakes, logs and generated code."""

from __future__ import annotations

import copy
import logging
import multiprocessing
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import ListWatchError, SharedIndexInformer, wait_for_cache_sync
from clientgo.codegen.layout import laid_out
from clientgo.codegen.schema_types import types_module
from clientgo.codegen.type_sources import kind_of_crd
from clientgo.meta import Codec, ForbiddenError, ObjectMeta
from clientgo.observe.logs import TextFormatter
from clientgo.operator.errors import ConfigError
from clientgo.rest import TransportTimeoutError
from clientgo.testing import FakeClient
from clientgo.tools.scaffold.new_files import KindNames
from tests.background import Background

RAW = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"new":[1]}'


def object_from_a_server(_: int) -> ConfigMap:
    return Codec(ConfigMap).decode(RAW)


def failed_request(_: int) -> None:
    raise TransportTimeoutError("GET", "http://x", "slow")


def test_objects_and_errors_come_back_from_other_processes() -> None:
    """FIELD-76: kubernetes-client/python#1304, apache/airflow#68827."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        obj = pool.apply_async(object_from_a_server, (0,)).get(timeout=60)
        with pytest.raises(TransportTimeoutError, match="GET http://x: slow"):
            pool.apply_async(failed_request, (0,)).get(timeout=60)

    assert obj.to_dict()["new"] == [1]


def test_a_copy_is_equal_and_the_original_untouched() -> None:
    """FIELD-77."""
    obj = object_from_a_server(0)
    for duplicate in (copy.copy(obj), copy.deepcopy(obj), pickle.loads(pickle.dumps(obj))):
        assert duplicate == obj
        duplicate.data = {"k": "changed"}

    assert obj.data == {"k": "v"}


def test_a_resource_client_is_a_source_and_anything_else_is_refused() -> None:
    """FIELD-78."""
    client = FakeClient(ConfigMap(metadata=ObjectMeta(name="a", namespace="d")))
    with pytest.raises(ListWatchError, match=r"pass client\.resource\(Pod\)"):
        SharedIndexInformer(client)  # type: ignore[arg-type]

    informer = SharedIndexInformer(client.resource(ConfigMap))
    stop = threading.Event()
    running = Background(lambda: informer.run(stop))
    assert wait_for_cache_sync(stop, informer, timeout=60)
    assert informer.indexer.list_keys() == ["d/a"]
    stop.set()
    running.result()


def test_a_servers_text_forges_no_line_of_a_log() -> None:
    """FIELD-79."""
    error = ForbiddenError.of("no\n2026-01-01T00:00:00.000Z INFO audit: allowed\x1b[2J")
    record = logging.makeLogRecord({"msg": "refused: %s", "args": (error,)})

    line = TextFormatter().format(record)

    assert "\n" not in line
    assert "\x1b" not in line


def test_generating_runs_no_code_of_the_directory_and_destroys_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIELD-80."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ruff.py").write_text("open('it_ran', 'w')")
    (tmp_path / "ruff.toml").write_text('required-version = "==0.0.1"')

    assert laid_out("x = [1,\n 2]\n", tmp_path / "out.py") == "x = [1, 2]\n"
    assert not (tmp_path / "it_ran").exists()


def test_a_malformed_schema_is_one_sentence_with_its_place() -> None:
    """FIELD-81."""
    spec: dict[str, Any] = {"type": "object", "properties": {}}
    spec["properties"]["again"] = spec
    version = {"name": "v1", "storage": True, "schema": {"openAPIV3Schema": spec}}
    names = {"kind": "Foo", "plural": "foos"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.e.com"},
        "spec": {"group": "e.com", "scope": "Cluster", "names": names, "versions": [version]},
    }

    with pytest.raises(ValueError, match=r"^Foo\.again.*is more than 100 levels deep, or holds"):
        types_module([kind_of_crd(crd)], source="crd.yaml")


def test_a_kind_that_python_cannot_name_is_refused() -> None:
    """FIELD-82."""
    with pytest.raises(ConfigError, match="a kind cannot have the name 'None', which Python uses"):
        KindNames(kind="None", group="e.com")
