"""Many events become few."""

from __future__ import annotations

from clientgo.meta import ObjectMeta
from clientgo.record import CorrelatorOptions, EventCorrelator
from clientgo.testing import AutoClock
from tests.record.builders import event

_UNLIMITED = CorrelatorOptions(burst=10_000)


def _sent_counts(correlator: EventCorrelator, clock: AutoClock, every: float, number: int) -> list:
    """(seconds, count) of the events that get through when the same one happens regularly."""
    sent = []
    for second in range(number):
        correlated = correlator.correlate(event())
        if correlated is not None:
            sent.append((second * every, correlated.event.count))
        clock.step(every)
    return sent


def test_the_same_event_counts_up_and_changes_only_count_time_and_message() -> None:
    """REC-16"""
    correlator = EventCorrelator(clock=AutoClock())

    first, second = correlator.correlate(event()), correlator.correlate(event())

    assert first is not None
    assert second is not None
    assert first.patch is None
    assert second.patch == {"count": 2, "lastTimestamp": "2000-01-01T00:00:00Z", "message": "m"}
    assert second.event.metadata.name == first.event.metadata.name


def test_an_event_that_repeats_keeps_the_time_of_its_first() -> None:
    """REC-16: also on a server that has forgotten it, where it is created anew."""
    correlator = EventCorrelator(clock=AutoClock())
    first, later = event(), event()
    first.first_timestamp, later.first_timestamp = "2000-01-01T00:00:00Z", "2000-01-01T00:01:00Z"
    correlator.correlate(first)

    second = correlator.correlate(later)

    assert second is not None
    assert second.event.first_timestamp == "2000-01-01T00:00:00Z"


def test_the_servers_copy_is_what_the_next_event_changes() -> None:
    """REC-07, REC-16"""
    correlator = EventCorrelator(clock=AutoClock())
    correlator.correlate(event())
    correlator.written(event(resource_version="41"))

    second = correlator.correlate(event())

    assert second is not None
    assert second.event.metadata.resource_version == "41"


def test_the_tenth_message_of_a_group_is_combined_and_counted() -> None:
    """REC-11, REC-12"""
    correlator = EventCorrelator(_UNLIMITED, clock=AutoClock())

    sent = [correlator.correlate(event(f"m{number}")) for number in range(1, 12)]

    assert [(item.event.message, item.event.count) for item in sent if item][8:] == [
        ("m9", 1),
        ("(combined from similar events): m10", 1),
        ("(combined from similar events): m11", 2),
    ]


def test_a_field_path_separates_events_but_not_groups() -> None:
    """REC-11, REC-16"""
    options = CorrelatorOptions(burst=100, max_events=2)
    correlator = EventCorrelator(options, clock=AutoClock())

    one, same_message, other = (
        correlator.correlate(event("m1", path="a")),
        correlator.correlate(event("m1", path="b")),
        correlator.correlate(event("m2", path="b")),
    )

    assert None not in (one, same_message, other)
    assert same_message.event.count == 1
    assert other.event.message == "(combined from similar events): m2"


def test_a_group_that_was_quiet_for_longer_than_the_window_starts_anew() -> None:
    """REC-13"""
    clock = AutoClock()
    correlator = EventCorrelator(CorrelatorOptions(burst=100, max_events=2), clock=clock)

    def message(text: str) -> str | None:
        correlated = correlator.correlate(event(text))
        return correlated.event.message if correlated else None

    message("m1")
    clock.step(600)
    at_the_edge = message("m2")
    clock.step(600)
    since_the_last = message("m3")
    clock.step(600.001)

    assert at_the_edge == "(combined from similar events): m2"
    assert since_the_last == "(combined from similar events): m3"
    assert message("m4") == "m4"


def test_the_first_messages_of_a_group_keep_their_own_events() -> None:
    """REC-14: client-go forgets a random one instead."""
    correlator = EventCorrelator(_UNLIMITED, clock=AutoClock())
    for number in range(20):
        correlator.correlate(event(f"m{number}"))

    again = [correlator.correlate(event(f"m{number}")) for number in range(9)]

    assert [item.event.message for item in again if item] == [f"m{number}" for number in range(9)]


def test_a_combined_event_keeps_labels_annotations_and_the_reporter() -> None:
    """REC-15: client-go loses them."""
    clock = AutoClock()
    correlator = EventCorrelator(CorrelatorOptions(max_events=1), clock=clock)
    one = event("m1", labels={"l": "1"}, annotations={"a": "2"})
    one.reporting_component = "c"
    clock.step(5)

    combined = correlator.correlate(one)

    assert combined is not None
    assert combined.event.metadata == ObjectMeta(
        name=combined.event.metadata.name,
        namespace="ns",
        labels={"l": "1"},
        annotations={"a": "2"},
    )
    assert combined.event.reporting_component == "c"
    assert combined.event.first_timestamp == combined.event.last_timestamp == "2000-01-01T00:00:05Z"
    assert one.message == "m1"


def test_an_event_each_second_is_silenced_after_25_and_let_through_each_5_minutes() -> None:
    """REC-17, REC-18"""
    clock = AutoClock()
    correlator = EventCorrelator(clock=clock)

    sent = _sent_counts(correlator, clock, every=1, number=910)

    assert [count for _, count in sent] == [*range(1, 26), 301, 601, 901]
    assert correlator.statistics().silenced == 910 - 28


def test_an_event_each_30_seconds_is_silenced_after_27() -> None:
    """REC-18"""
    clock = AutoClock()
    correlator = EventCorrelator(clock=clock)

    sent = _sent_counts(correlator, clock, every=30, number=32)

    assert sent == [(30 * number, number + 1) for number in range(27)] + [(900, 31)]


def test_a_reason_has_no_budget_of_its_own_unless_asked_for() -> None:
    """REC-17, P-24"""
    shared = EventCorrelator(CorrelatorOptions(burst=1), clock=AutoClock())
    separate = EventCorrelator(
        CorrelatorOptions(burst=1, spam_key=lambda event: event.reason), clock=AutoClock()
    )

    for correlator in (shared, separate):
        correlator.correlate(event(reason="A"))

    assert shared.correlate(event(reason="B")) is None
    assert separate.correlate(event(reason="B")) is not None


def test_ordinary_events_use_up_no_budget_of_warnings() -> None:
    """REC-17: which upstream's filter lets them do."""
    correlator = EventCorrelator(clock=AutoClock())
    for number in range(100):
        correlator.correlate(event(reason=f"R{number}"))
    warning = event(reason="Failed")
    warning.type = "Warning"

    assert correlator.correlate(warning) is not None


def test_the_caches_are_bounded_and_what_they_forget_is_counted() -> None:
    """REC-19, P-25"""
    correlator = EventCorrelator(CorrelatorOptions(cache_size=2), clock=AutoClock())

    for name in "abc":
        correlator.correlate(event(name=name))
    again = correlator.correlate(event(name="a"))

    assert again is not None
    assert again.event.count == 1
    assert correlator.statistics().cached == 6
    assert correlator.statistics().evicted == 6


def test_the_event_that_is_correlated_stays_as_it_is() -> None:
    correlator = EventCorrelator(clock=AutoClock())
    correlator.correlate(event())
    again = event()

    correlator.correlate(again)

    assert again.count == 1


def test_messages_are_combined_before_they_are_counted_and_counted_before_they_are_silenced() -> (
    None
):
    """REC-06: the combined event is one event that counts up, and goes on while silenced."""
    correlator = EventCorrelator(CorrelatorOptions(burst=12), clock=(clock := AutoClock()))

    sent = [correlator.correlate(event(f"m{number}")) for number in range(1, 15)]
    clock.step(300)
    later = correlator.correlate(event("m15"))

    assert [item.event.count for item in sent if item] == [1] * 10 + [2, 3]
    assert sent[12:] == [None, None]
    assert later is not None
    assert later.event.count == 6
