"""A record and the Lease that holds it say the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.api.coordination_v1 import LeaseSpec
from clientgo.leaderelection import (
    LeaderElectionRecord,
    lease_spec_to_record,
    record_to_lease_spec,
)

_MOMENTS = st.none() | st.datetimes(
    datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC)
)
_COUNTS = st.integers(0, 2**31 - 1)


@given(
    st.builds(
        LeaderElectionRecord,
        holder_identity=st.text(),
        lease_duration_seconds=_COUNTS,
        acquire_time=_MOMENTS,
        renew_time=_MOMENTS,
        leader_transitions=_COUNTS,
        strategy=st.text(),
        preferred_holder=st.text(),
    )
)
def test_a_record_survives_the_way_into_a_lease_and_back(record: LeaderElectionRecord) -> None:
    """LE-03."""
    assert lease_spec_to_record(record_to_lease_spec(record)) == record


def test_what_is_empty_is_left_out_but_for_the_holder() -> None:
    """LE-03: an empty holder has to be written, or a release would say nothing."""
    spec = record_to_lease_spec(LeaderElectionRecord())

    assert (spec.strategy, spec.preferred_holder) == (None, None)
    assert spec.holder_identity == ""


def test_renewals_within_one_second_differ() -> None:
    """LE-07."""
    first = LeaderElectionRecord(renew_time=datetime(2026, 1, 1, tzinfo=UTC))
    second = replace(first, renew_time=first.renew_time + timedelta(microseconds=1))

    assert first != second


def test_a_time_that_somebody_wrote_with_an_offset_is_understood() -> None:
    spec = LeaseSpec(renew_time="2026-01-01T01:00:00.5+01:00")

    renewed = lease_spec_to_record(spec).renew_time

    assert renewed == datetime(2026, 1, 1, 0, 0, 0, 500000, tzinfo=UTC)


def test_a_time_that_is_none_is_an_error_that_quotes_it() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        lease_spec_to_record(LeaseSpec(renew_time="yesterday"))
