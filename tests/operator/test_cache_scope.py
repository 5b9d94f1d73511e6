"""What part of the cluster is cached: who says so, and which word counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clientgo.operator import ALL, OWN, CacheScope
from clientgo.operator.cache import namespaces_from_env
from clientgo.operator.cache.scope import (
    EVERYWHERE,
    KindScope,
    kind_scope,
    namespace_set,
    own_namespace,
)
from clientgo.operator.errors import ConfigError
from clientgo.rest.config import in_cluster


def merged(default: CacheScope, own: CacheScope | None = None, **options: Any) -> KindScope:
    return kind_scope(default, own, **{"namespaced": True, "kind": "Part", **options})


def test_without_scopes_everything_is_cached() -> None:
    """OP-CCH-02"""
    scope = merged(CacheScope())
    assert scope.within(EVERYWHERE, "Part") == EVERYWHERE
    assert scope.within(frozenset({"a"}), "Part") == {"a"}


def test_the_more_particular_word_counts() -> None:
    """OP-CCH-02: kind and namespace, kind, namespace in general, default."""
    default = CacheScope(
        labels="from=default",
        fields="from=default",
        copy="shared",
        resync=1.0,
        namespaces={"a": CacheScope(fields="from=default-a", resync=2.0), "*": None},
    )
    own = CacheScope(
        labels="from=kind", namespaces={"a": CacheScope(labels="from=kind-a"), "b": None}
    )
    scope = merged(default, own)
    a, b = scope.of("a"), scope.of("b")
    assert (a.labels, a.fields, a.resync, a.copy) == (
        "from=kind-a",
        "from=default-a",
        2.0,
        "shared",
    )
    assert (b.labels, b.fields, b.resync) == ("from=kind", "from=default", 1.0)


def test_the_namespaces_of_a_kind_replace_those_of_the_default() -> None:
    """OP-CCH-03: None inherits, empty means all."""
    default = CacheScope(namespaces={"a", "b"})
    assert merged(default).within(EVERYWHERE, "Part") == {"a", "b"}
    assert merged(default, CacheScope(namespaces="c")).within(EVERYWHERE, "Part") == {"c"}
    assert merged(default, CacheScope(namespaces=())).within(EVERYWHERE, "Part") == EVERYWHERE
    assert merged(default, CacheScope(namespaces=ALL)).within(EVERYWHERE, "Part") == EVERYWHERE


def test_a_star_means_all_others() -> None:
    """OP-CCH-03"""
    scope = merged(CacheScope(), CacheScope(namespaces={"a": None, "*": CacheScope(labels="x=y")}))
    assert scope.within(EVERYWHERE, "Part") == {"a", ""}
    assert scope.of("a").labels == ""
    assert scope.of("other").labels == "x=y"
    assert scope.within(frozenset({"other"}), "Part") == {"other"}


def test_a_kind_without_namespaces_cannot_be_given_any() -> None:
    """OP-CCH-03: those of the default do not concern it."""
    with pytest.raises(ConfigError, match="has no namespaces"):
        merged(CacheScope(), CacheScope(namespaces="a"), namespaced=False)
    scope = merged(CacheScope(namespaces="a", labels="x=y"), namespaced=False)
    assert scope.within(EVERYWHERE, "Planet") == EVERYWHERE
    assert scope.of("").labels == "x=y"


def test_a_namespace_outside_of_the_scope_is_refused() -> None:
    """OP-NS-02"""
    scope = merged(CacheScope(namespaces={"a", "b"}))
    with pytest.raises(ConfigError, match="cached in a, b only, not in c; widen"):
        scope.within(frozenset({"a", "c"}), "Part")


def test_a_scope_of_namespaces_says_one_thing() -> None:
    """OP-NS-01"""
    assert namespace_set(ALL) == EVERYWHERE
    assert namespace_set("a") == {"a"}
    assert namespace_set(["a", "b"]) == {"a", "b"}
    for wrong in ([], [ALL, "a"], ["a", OWN], [""], [1]):
        with pytest.raises(ConfigError):
            namespace_set(wrong)  # type: ignore[arg-type]


def test_the_own_namespace_is_that_of_the_pod(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """OP-NS-03: from its service account, then the environment; else it is an error."""
    token = tmp_path / "namespace"
    monkeypatch.setattr(in_cluster, "SERVICE_ACCOUNT", str(tmp_path))
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    monkeypatch.delenv("NAMESPACE", raising=False)
    with pytest.raises(ConfigError, match="set POD_NAMESPACE"):
        own_namespace()
    monkeypatch.setenv("NAMESPACE", "third")
    assert own_namespace() == "third"
    monkeypatch.setenv("POD_NAMESPACE", "second")
    assert own_namespace() == "second"
    token.write_text("first\n")
    assert namespace_set(OWN) == {"first"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("", ALL), (" , ", ALL), ("a", {"a"}), (" a, b ,", {"a", "b"})],
)
def test_the_environment_lists_namespaces(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: Any
) -> None:
    """OP-NS-10"""
    monkeypatch.setenv("WATCH_NAMESPACE", value)
    assert namespaces_from_env("WATCH_NAMESPACE") == expected
