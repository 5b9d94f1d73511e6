"""Reading a cache by selector and name."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.cache import (
    ExpirationCache,
    Indexer,
    Lister,
    list_all,
    list_by_namespace,
    meta_namespace_index,
    ttl_policy,
)
from clientgo.meta import (
    NoMetadataError,
    NotFoundError,
    everything,
    nothing,
    parse_label_selector,
    resource_of,
)
from tests.cache.builders import Foo, foo, refs

WEB = parse_label_selector("app=web")


def store() -> Indexer[Foo]:
    made: Indexer[Foo] = Indexer(indexers={"namespace": meta_namespace_index})
    made.add(foo("a", labels={"app": "web"}))
    made.add(foo("b", labels={"app": "db"}))
    made.add(foo("c", namespace="other", labels={"app": "web"}))
    made.add(foo("d", namespace=""))
    return made


class Untouchable:
    """A store that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


class Plain:
    """A store of values that are no objects."""

    def list(self) -> list[Any]:
        return [5]

    def get_by_key(self, key: str) -> Any:
        return None

    def by_index(self, name: str, value: str) -> list[Any]:
        return [5]


class TestListing:
    def test_a_selector_picks_by_labels(self) -> None:
        """LST-01."""
        assert refs(list_all(store(), WEB)) == ["a@1", "c@1"]

    @pytest.mark.parametrize("namespace", ["", "ns"])
    def test_a_selector_of_nothing_leaves_the_store_alone(self, namespace: str) -> None:
        """LST-01."""
        assert list_by_namespace(Untouchable(), namespace, nothing()) == []

    @pytest.mark.parametrize("selector", [None, everything()])
    def test_a_selector_of_everything_reads_no_labels(self, selector: Any) -> None:
        """LST-01."""
        assert list_all(Plain(), selector) == [5]

    def test_a_value_without_labels_is_an_error_only_if_they_matter(self) -> None:
        """LST-01."""
        with pytest.raises(NoMetadataError):
            list_all(Plain(), WEB)

    def test_a_namespace_is_found_by_its_index(self) -> None:
        """LST-02."""
        assert refs(list_by_namespace(store(), "ns")) == ["a@1", "b@1"]
        assert refs(list_by_namespace(store(), "ns", WEB)) == ["a@1"]
        assert refs(list_by_namespace(store(), "")) == ["a@1", "b@1", "c@1", "d@1"]

    def test_without_the_index_everything_is_looked_at(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """LST-02."""
        bare: Indexer[Foo] = Indexer()
        bare.replace(store().list(), "1")
        with caplog.at_level(logging.WARNING, "clientgo.cache"):
            assert refs(list_by_namespace(bare, "ns", WEB)) == ["a@1"]
        assert len(caplog.records) == 1


class TestLister:
    def lister(self) -> Lister[Foo]:
        return Lister(store(), resource_of(Foo))

    def test_it_lists_all_namespaces_or_one(self) -> None:
        """LST-03, LST-06."""
        lister = self.lister()
        assert len(lister.list()) == 4
        assert refs(lister.list(WEB)) == ["a@1", "c@1"]
        assert refs(lister.namespace("ns").list(WEB)) == ["a@1"]
        assert len(lister.namespace("ns").namespace("").list()) == 4

    def test_it_gets_by_name_within_a_namespace(self) -> None:
        """LST-03."""
        lister = self.lister()
        assert lister.namespace("ns").get("a").metadata.name == "a"
        assert lister.get("d").metadata.name == "d"

    def test_what_is_missing_is_not_found_and_the_message_says_where(self) -> None:
        """LST-03, LST-04."""
        with pytest.raises(NotFoundError) as caught:
            self.lister().namespace("other").get("a")
        assert str(caught.value) == "foos.example.com \"a\" not found in namespace 'other'"
        assert caught.value.status.details.name == "a"
        assert caught.value.status.details.group == "example.com"

        with pytest.raises(NotFoundError, match=r'foos\.example\.com "a" not found$'):
            self.lister().get("a")

    def test_what_may_be_missing_is_found_or_none(self) -> None:
        """LST-04: by the same keys as get."""
        lister = self.lister()
        assert lister.namespace("ns").find("a") is lister.namespace("ns").get("a")
        assert lister.namespace("other").find("a") is None
        assert lister.find("a") is None
        assert lister.find("d") is lister.get("d")

    def test_it_hands_out_what_is_stored_and_works_when_empty(self) -> None:
        """LST-05."""
        indexer = store()
        stored = indexer.get_by_key("ns/a")
        assert Lister(indexer, resource_of(Foo)).namespace("ns").get("a") is stored
        assert Lister(Indexer(), resource_of(Foo)).list() == []

    def test_it_reads_any_store(self) -> None:
        """LST-07."""
        cache: ExpirationCache[Foo] = ExpirationCache(ttl_policy(60.0))
        cache.add(foo("a"))
        assert Lister(_WithoutIndexes(cache), resource_of(Foo)).namespace("ns").get("a") is not None


class _WithoutIndexes:
    def __init__(self, cache: ExpirationCache[Foo]) -> None:
        self.list = cache.list
        self.get_by_key = cache.get_by_key

    def by_index(self, name: str, value: str) -> list[Foo]:
        raise AssertionError("get asks no index")


def test_the_text_of_a_selector_is_to_be_parsed() -> None:
    lister = Lister(store(), resource_of(Foo))
    with pytest.raises(TypeError, match=r"parse_label_selector\('app=web'\)"):
        lister.list("app=web")  # type: ignore[arg-type]
