"""Saying once what is left out."""

from __future__ import annotations

import pytest

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.cache.reflector.quarantine import REMEMBERED, QuarantineLog
from clientgo.cache.store.keys import key_for_report
from clientgo.meta import ObjectMeta, Undecodable
from tests.cache.builders import foo


def test_each_object_and_reason_is_logged_once_and_counted_always(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """FIELD-13."""
    log = QuarantineLog("foos")
    for obj, reason in [("a", "bad"), ("a", "bad"), ("a", "worse"), ("b", "bad")]:
        log.report(foo(obj), reason)
    assert log.count == 4
    assert [record.getMessage() for record in caplog.records] == [
        "foos: left out object ns/a: bad; the others are not affected",
        "foos: left out object ns/a: worse; the others are not affected",
        "foos: left out object ns/b: bad; the others are not affected",
    ]


def test_its_memory_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    log = QuarantineLog("foos")
    for number in range(REMEMBERED + 1):
        log.report(foo(f"foo-{number}"), "bad")
    log.report(foo("foo-0"), "bad")
    assert len(caplog.records) == REMEMBERED + 2


@pytest.mark.parametrize(
    ("obj", "key"),
    [
        (foo("a"), "ns/a"),
        (Undecodable("why", b"", ObjectMeta(name="x", namespace="n")), "n/x"),
        (Undecodable("why", b"", ObjectMeta()), "without a name"),
        (DeletedFinalStateUnknown("ns/a", None), "ns/a"),
        (7, "of type int"),
    ],
)
def test_anything_can_be_named(obj: object, key: str) -> None:
    assert key_for_report(obj) == key
