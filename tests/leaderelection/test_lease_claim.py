"""What a candidate sends, given what it has seen."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from math import inf

import pytest

from clientgo.leaderelection import LeaderElectionRecord, Timing
from clientgo.leaderelection.lease_claim import LeaseClaim, Renewal
from clientgo.testing import AutoClock
from tests.leaderelection.instruments import Tally
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease

_TIMING = Timing(lease_duration=15, renew_deadline=10, retry_period=2)
_LONG_AGO = datetime(1999, 1, 1, tzinfo=UTC)
_STOP = threading.Event()

OTHERS = LeaderElectionRecord(
    holder_identity="b",
    lease_duration_seconds=15,
    acquire_time=_LONG_AGO,
    renew_time=_LONG_AGO,
    leader_transitions=3,
)


class Setting:
    """A claim of candidate ``a`` on a lease that holds ``record``."""

    def __init__(self, record: LeaderElectionRecord | None = None) -> None:
        self.clock = AutoClock()
        self.lease = SharedLease()
        self.lease.record = record
        self.lock = ScriptedLock(self.lease, "a", self.clock)
        self.slow_path = Tally()
        self.claim = LeaseClaim(self.lock, _TIMING, clock=self.clock, slow_path=self.slow_path)

    def acquire(self) -> bool:
        return self.claim.acquire(_STOP)

    def renew(self, deadline: float = inf) -> Renewal:
        return self.claim.renew(deadline, _STOP)

    @property
    def record(self) -> LeaderElectionRecord:
        assert self.lease.record is not None
        return self.lease.record


def holding() -> Setting:
    """A claim that has just been granted."""
    setting = Setting()
    assert setting.acquire()
    setting.lock.take_calls()
    return setting


def test_a_lease_that_is_not_there_is_created_with_no_transitions() -> None:
    """LE-10, LE-11."""
    setting = Setting()

    assert setting.acquire()
    assert setting.lock.ops() == ["get", "create"]
    assert setting.record.holder_identity == "a"
    assert setting.record.lease_duration_seconds == 15
    assert setting.record.leader_transitions == 0
    assert setting.record.acquire_time == setting.record.renew_time


def test_a_lease_that_was_deleted_is_not_taken_before_the_term_seen_in_it_has_ended() -> None:
    """LE-10: its holder goes on until its next renewal; client-go begins beside it."""
    setting = Setting(OTHERS)
    setting.acquire()
    setting.lease.write(None)

    setting.clock.step(14.9)
    assert not setting.acquire()
    setting.clock.step(0.1)
    assert setting.acquire()

    assert setting.lock.ops() == ["get", "get", "get", "create"]
    assert setting.record.leader_transitions == OTHERS.leader_transitions + 1


def test_a_deleted_lease_that_nobody_held_is_taken_at_once_with_its_transitions() -> None:
    """LE-11: what others fence by does not begin anew."""
    setting = Setting(replace(OTHERS, holder_identity=""))
    setting.lock.answers.extend(["pass", "server_error"])
    setting.acquire()
    setting.lease.write(None)

    assert setting.acquire()
    assert setting.record.leader_transitions == OTHERS.leader_transitions + 1


def test_a_lease_that_another_holds_is_only_read() -> None:
    """LE-10."""
    setting = Setting(OTHERS)

    assert not setting.acquire()
    assert setting.lock.ops() == ["get"]


def test_a_lease_is_valid_for_as_long_as_it_says_after_it_was_first_seen_however_old_it_is() -> (
    None
):
    """LE-04, LE-06, P-19: its times are years ago, by whatever clock."""
    setting = Setting(OTHERS)
    setting.acquire()

    setting.clock.step(14.999)
    assert not setting.acquire()

    setting.clock.step(0.001)
    assert setting.acquire()


def test_the_holder_says_how_long_its_lease_lasts() -> None:
    """LE-05, P-20: an impatient candidate must not take the lease of a patient one early."""
    setting = Setting(replace(OTHERS, lease_duration_seconds=60))
    setting.acquire()

    setting.clock.step(59)
    assert not setting.acquire()

    setting.clock.step(1)
    assert setting.acquire()


def test_a_renewal_that_is_seen_starts_the_wait_anew() -> None:
    """LE-07: one microsecond of difference is enough."""
    setting = Setting(OTHERS)
    setting.acquire()
    setting.clock.step(10)
    setting.lease.write(replace(OTHERS, renew_time=_LONG_AGO.replace(microsecond=1)))
    setting.acquire()

    setting.clock.step(14)
    assert not setting.acquire()

    setting.clock.step(1)
    assert setting.acquire()


def test_rewriting_the_same_record_does_not_extend_the_wait() -> None:
    """LE-07."""
    setting = Setting(OTHERS)
    setting.acquire()
    setting.clock.step(10)
    setting.lease.write(OTHERS)
    setting.acquire()

    setting.clock.step(5)
    assert setting.acquire()


def test_taking_over_counts_a_transition_and_sets_both_times() -> None:
    """LE-11, P-22."""
    setting = Setting(OTHERS)
    setting.acquire()
    setting.clock.step(15)

    assert setting.acquire()
    assert setting.record.leader_transitions == 4
    assert setting.record.acquire_time == setting.record.renew_time != _LONG_AGO


def test_a_lease_that_nobody_holds_is_taken_at_once_however_recent() -> None:
    """LE-10."""
    setting = Setting(replace(OTHERS, holder_identity=""))

    assert setting.acquire()
    assert setting.record.leader_transitions == 4


def test_our_own_lease_from_an_earlier_life_goes_on() -> None:
    """LE-11, P-19: no wait, no transition."""
    setting = Setting(replace(OTHERS, holder_identity="a"))

    assert setting.acquire()
    assert setting.record.leader_transitions == 3
    assert setting.record.acquire_time == _LONG_AGO
    assert setting.record.renew_time != _LONG_AGO
    assert setting.slow_path.value == 1


@pytest.mark.parametrize("answer", ["server_error", "conflict", "hang"])
def test_a_read_that_fails_does_not_acquire(answer: str) -> None:
    """LE-10."""
    setting = Setting()
    setting.lock.answers.append(answer)

    assert not setting.acquire()
    assert setting.lock.ops() == ["get"]


def test_of_two_that_create_at_once_one_fails() -> None:
    setting = Setting()
    setting.lock.answers.extend(["pass", "already_exists"])

    assert not setting.acquire()
    assert not setting.claim.is_ours


def test_a_renewal_needs_no_read() -> None:
    """LE-09, LE-11."""
    setting = holding()
    before = setting.record
    setting.clock.step(2)

    assert setting.renew() is Renewal.DONE
    assert setting.lock.ops() == ["update"]
    assert setting.record.acquire_time == before.acquire_time
    assert setting.record.renew_time != before.renew_time
    assert setting.record.leader_transitions == before.leader_transitions
    assert setting.slow_path.value == 0


@pytest.mark.parametrize("answer", ["server_error", "conflict", "hang", "lost"])
def test_a_renewal_that_fails_is_tried_again_after_a_read(answer: str) -> None:
    """LE-09, LE-25: also when it was carried out and only the answer got lost."""
    setting = holding()
    setting.lock.answers.append(answer)

    assert setting.renew() is Renewal.DONE
    assert setting.lock.ops() == ["update", "get", "update"]
    assert setting.slow_path.value == 1


def test_the_requests_of_a_life_come_in_a_fixed_order() -> None:
    """LE-09, LE-10: get, create, update, update; and once an update fails, update, get, update."""
    setting = Setting()
    setting.acquire()
    setting.renew()
    setting.lock.answers.extend(["pass", "server_error"])
    setting.renew()
    setting.renew()

    assert setting.lock.ops() == ["get", "create", "update", "update", "update", "get", "update"]


def test_a_lease_that_was_deleted_while_we_lead_is_put_back_as_it_was() -> None:
    """LE-11: its transitions are what others fence by."""
    setting = Setting(replace(OTHERS, holder_identity=""))
    setting.acquire()
    acquired = setting.record
    setting.lease.write(None)
    setting.clock.step(2)

    assert setting.renew() is Renewal.DONE
    assert setting.lock.ops()[-3:] == ["update", "get", "create"]
    assert setting.record == replace(acquired, renew_time=setting.record.renew_time)


@pytest.mark.parametrize("holder", ["b", ""])
def test_a_lease_that_is_not_ours_any_more_is_left_alone(holder: str) -> None:
    """P-16: who held it meanwhile, or emptied it, may have had a term of its own."""
    setting = holding()
    setting.lease.write(replace(OTHERS, holder_identity=holder))

    assert setting.renew() is Renewal.OVER
    assert setting.lock.ops() == ["update", "get"]
    assert not setting.claim.is_ours


def test_an_expired_lease_is_read_before_it_is_renewed() -> None:
    """LE-09."""
    setting = holding()
    setting.clock.step(15)

    assert setting.renew() is Renewal.DONE
    assert setting.lock.ops() == ["get", "update"]


def test_a_request_never_outlives_its_own_limit_or_the_deadline() -> None:
    """LE-14, P-18."""
    setting = holding()
    setting.lock.answers.extend(["hang", "hang"])

    assert setting.renew(deadline=7) is Renewal.FAILED
    assert [call.at for call in setting.lock.calls] == [0, 5]
    assert setting.clock.monotonic() == 7


def test_nothing_is_sent_once_the_deadline_has_come() -> None:
    """LE-14."""
    setting = holding()
    setting.lock.answers.append("hang")

    assert setting.renew(deadline=5) is Renewal.FAILED
    assert setting.lock.ops() == ["update"]


def test_a_lease_counts_from_when_its_renewal_was_sent() -> None:
    """P-18: others may have seen the renewal long before we had its answer."""
    setting = holding()
    setting.clock.step(2)
    setting.lock.answers.append("late")

    setting.renew()

    assert setting.claim.renewed_at == 2
    assert setting.claim.observed.at == 5


def test_releasing_empties_our_record_for_one_second() -> None:
    """LE-18."""
    setting = Setting(replace(OTHERS, holder_identity=""))
    setting.acquire()
    setting.lock.take_calls()
    setting.clock.step(1)

    assert setting.claim.release()
    assert setting.lock.ops() == ["get", "update"]
    assert setting.record.holder_identity == ""
    assert setting.record.lease_duration_seconds == 1
    assert setting.record.acquire_time == setting.record.renew_time
    assert setting.record.leader_transitions == 4
    assert not setting.claim.is_ours


def test_the_lease_of_another_is_not_released() -> None:
    """LE-18, P-16: client-go decides by what it saw before, and blanks the new holder."""
    setting = holding()
    setting.lease.write(OTHERS)

    assert setting.claim.release()
    assert setting.record == OTHERS


def test_a_conflict_leads_to_another_read_and_another_try() -> None:
    """LE-19, P-15."""
    setting = holding()
    setting.lock.answers.extend(["pass", "conflict"])

    assert setting.claim.release()
    assert setting.lock.ops() == ["get", "update", "get", "update"]
    assert setting.record.holder_identity == ""


@pytest.mark.parametrize("answer", ["server_error", "hang"])
def test_a_release_that_fails_says_so_and_leaves_the_lease_to_expire(answer: str) -> None:
    """LE-18."""
    setting = holding()
    setting.lock.answers.append(answer)

    assert not setting.claim.release()
    assert setting.record.holder_identity == "a"


def test_a_lease_that_is_gone_need_not_be_released() -> None:
    """LE-18."""
    setting = holding()
    setting.lease.write(None)

    assert not setting.claim.release()
    assert setting.lease.record is None


def test_a_release_takes_no_longer_than_the_renew_deadline() -> None:
    """LE-19."""
    setting = holding()
    setting.lock.answers.extend(["hang", "hang", "hang"])

    setting.claim.release()

    assert setting.clock.monotonic() <= 10


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]


def test_each_kind_of_failure_is_logged_once_until_the_lock_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An API server that is away for a minute is one line in the log of a standby, not thirty."""
    setting = Setting(OTHERS)
    setting.lock.answers.extend(["server_error", "server_error", "hang", "server_error"])
    for _ in range(4):
        setting.acquire()
    assert len(warnings(caplog)) == 2, warnings(caplog)
    setting.acquire()
    setting.lock.answers.append("server_error")
    setting.acquire()
    assert len(warnings(caplog)) == 3, warnings(caplog)


def test_a_leader_that_cannot_renew_logs_when_that_begins_and_when_it_ends(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An attempt is a write and then a read: both fail for as long as the server is away."""
    caplog.set_level("INFO", "clientgo.leaderelection")
    setting = holding()
    setting.lock.answers.extend(["server_error"] * 6)
    for _ in range(3):
        assert setting.renew() is Renewal.FAILED
    assert len(warnings(caplog)) == 1, warnings(caplog)

    assert setting.renew() is Renewal.DONE

    assert len(warnings(caplog)) == 1
    assert caplog.messages[-1].endswith("renewed again")
