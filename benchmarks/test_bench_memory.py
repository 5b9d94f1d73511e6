"""What cached pods cost: heap for each, and what the garbage collector has to do about them."""

from __future__ import annotations

import gc
import time
import tracemalloc
from typing import Any

import msgspec

from clientgo.cache import DeltaType, Indexer
from clientgo.meta import Codec, Unstructured

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-6b474476c4-00000",
        "namespace": "ns-1",
        "uid": "3b7c7f5e-1111-2222-3333-444455556666",
        "resourceVersion": "12345",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "web", "pod-template-hash": "6b474476c4", "tier": "front"},
        "annotations": {"example.com/checksum": "c" * 40, "example.com/note": "y" * 30},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-1"}
        ],
        "managedFields": [
            {"manager": "kubelet", "fieldsV1": {f"f:field-{number}": {} for number in range(100)}}
        ],
    },
    "spec": {"containers": [{"name": f"c-{n}", "image": "i" * 400} for n in range(8)]},
    "status": {"conditions": [{"type": f"T-{n}", "message": "m" * 40} for n in range(8)]},
}


def lines(count: int) -> list[bytes]:
    """Watch events, each of another pod."""
    line = msgspec.json.encode({"type": "ADDED", "object": POD})
    return [line.replace(b"00000", b"%05d" % number) for number in range(count)]


def cached(count: int) -> Indexer[Unstructured]:
    """A store with so many pods, decoded from events of their own."""
    codec, store = Codec(Unstructured), Indexer[Unstructured]()
    # bytes() of a bytearray is a copy: each event has its own line, as a stream's reader cuts it.
    for line in lines(count):
        store.apply([(DeltaType.ADDED, codec.decode_event(bytes(bytearray(line))).object)])
    return store


def test_heap_of_a_cached_pod(benchmark: Any) -> None:
    """Target: at most 8 KiB for a pod of 6 KB."""
    heaps = {}
    for name, fill in {
        "cached": lambda: cached(2_000),
        "as msgspec dicts": lambda: [msgspec.json.decode(line) for line in lines(2_000)],
    }.items():
        gc.collect()
        tracemalloc.start()
        kept = fill()
        gc.collect()
        heaps[name] = tracemalloc.get_traced_memory()[0] / 2_000 / 1024
        tracemalloc.stop()
        del kept
    benchmark.pedantic(lambda: cached(2_000), rounds=1)
    benchmark.extra_info["KB of JSON"] = round(len(lines(1)[0]) / 1000, 1)
    benchmark.extra_info["KiB cached"] = round(heaps["cached"], 2)
    benchmark.extra_info["KiB as dicts"] = round(heaps["as msgspec dicts"], 2)


def test_collection_with_a_hundred_thousand_cached_pods(benchmark: Any) -> None:
    """Target: a full collection in less than 50 ms."""
    store = cached(100_000)
    gc.collect()
    started = time.perf_counter()
    gc.collect()
    benchmark.extra_info["ms with 100,000 pods"] = round((time.perf_counter() - started) * 1e3, 1)
    benchmark.pedantic(gc.collect, rounds=5)
    assert len(store.list_keys()) == 100_000
    del store
    gc.collect()
    started = time.perf_counter()
    gc.collect()
    benchmark.extra_info["ms without"] = round((time.perf_counter() - started) * 1e3, 1)
