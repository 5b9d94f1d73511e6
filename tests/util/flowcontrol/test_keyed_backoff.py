"""Growing pauses, one for each id."""

from __future__ import annotations

from clientgo.testing import FakeClock
from clientgo.util.flowcontrol import KeyedBackoff


def test_a_pause_doubles_up_to_the_maximum() -> None:
    """FLC-07."""
    clock = FakeClock()
    backoff = KeyedBackoff(1.0, 50.0, clock=clock)
    pauses = [backoff.get("a")]
    for _ in range(9):
        backoff.next("a", clock.monotonic())
        pauses.append(backoff.get("a"))
        clock.step(pauses[-1])

    assert pauses == [0, 1, 2, 4, 8, 16, 32, 50, 50, 50]


def test_the_first_pause_is_not_capped() -> None:
    """FLC-07."""
    backoff = KeyedBackoff(10.0, 5.0, clock=FakeClock())

    backoff.next("a", 0.0)
    assert backoff.get("a") == 10.0
    backoff.next("a", 0.0)
    assert backoff.get("a") == 5.0


def test_the_last_update_is_now_and_not_the_time_of_the_event() -> None:
    """FLC-07."""
    clock = FakeClock(start=100.0)
    backoff = KeyedBackoff(1.0, 10.0, clock=clock)
    backoff.next("a", 0.0)

    assert backoff.is_in_backoff_since_update("a", 100.5)
    assert not backoff.is_in_backoff_since_update("a", 101.0)


def test_each_pause_is_lengthened_by_a_part_of_the_one_before() -> None:
    """FLC-08."""
    draws = iter([0.5, 0.5, 0.0, 1.0])
    backoff = KeyedBackoff(0.1, 0.5, jitter=0.1, clock=FakeClock(), random=lambda: next(draws))
    pauses = []
    for _ in range(4):
        backoff.next("a", 0.0)
        pauses.append(backoff.get("a"))

    assert pauses == [0.105, 0.21525, 0.4305, 0.5]


def test_without_jitter_no_random_number_is_drawn() -> None:
    """FLC-08."""

    def fail() -> float:
        raise AssertionError("drawn")

    backoff = KeyedBackoff(1.0, 10.0, clock=FakeClock(), random=fail)

    backoff.next("a", 0.0)


def test_an_id_left_alone_for_more_than_twice_the_maximum_starts_over() -> None:
    """FLC-09, FLC-10."""
    clock = FakeClock()
    backoff = KeyedBackoff(1.0, 10.0, clock=clock)
    fired = []
    for second in range(58):
        clock.step(second - clock.monotonic())
        silent = 36 <= second < 56
        if not silent and not backoff.is_in_backoff_since_update("a", float(second)):
            backoff.next("a", float(second))
            fired.append(second)

    assert fired == [0, 1, 3, 7, 15, 25, 35, 56, 57]


def test_expiry_is_strictly_more_than_twice_the_maximum() -> None:
    """FLC-09: and get ignores it."""
    clock = FakeClock()
    backoff = KeyedBackoff(1.0, 10.0, clock=clock)
    backoff.next("a", 0.0)
    clock.step(20.0)
    backoff.collect_garbage()
    assert backoff.get("a") == 1.0

    clock.step(0.000000001)

    assert backoff.get("a") == 1.0
    backoff.collect_garbage()
    assert backoff.get("a") == 0.0


def test_the_rule_of_expiry_can_be_replaced() -> None:
    """FLC-09."""
    clock = FakeClock()
    backoff = KeyedBackoff(
        1.0,
        10.0,
        clock=clock,
        has_expired=lambda event_time, last_update, maximum: event_time - last_update >= maximum,
    )
    backoff.next("a", 0.0)

    backoff.next("a", 9.9)
    assert backoff.get("a") == 2.0
    backoff.next("a", 10.0)
    assert backoff.get("a") == 1.0


def test_an_unknown_id_is_in_no_backoff() -> None:
    """FLC-10."""
    backoff = KeyedBackoff(1.0, 10.0, clock=FakeClock())

    assert not backoff.is_in_backoff_since("a", 0.0)
    assert not backoff.is_in_backoff_since_update("a", 0.0)


def test_a_reset_forgets_one_id() -> None:
    """FLC-11."""
    backoff = KeyedBackoff(1.0, 10.0, clock=FakeClock())
    for key in ("a", "b"):
        backoff.next(key, 0.0)
        backoff.next(key, 0.0)

    backoff.reset("a")
    backoff.reset("never seen")

    assert (backoff.get("a"), backoff.get("b")) == (0.0, 2.0)
    assert len(backoff) == 1


def test_expired_ids_stay_until_garbage_is_collected() -> None:
    """FLC-11."""
    clock = FakeClock()
    backoff = KeyedBackoff(1.0, 10.0, clock=clock)
    for number in range(1000):
        backoff.next(str(number), 0.0)
    clock.step(21.0)
    backoff.next("fresh", 21.0)
    assert len(backoff) == 1001

    backoff.collect_garbage()

    assert len(backoff) == 1
