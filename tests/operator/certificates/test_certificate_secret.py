"""Certificates of the operator's own making."""

from __future__ import annotations

import dataclasses

import pytest

from clientgo.operator.certificates.self_signed import (
    AUTHORITY_LIFETIME,
    SERVING_LIFETIME,
    OwnCertificates,
)
from clientgo.util.certificates import KeyPair
from clientgo.util.certificates.authority import (
    belong_together,
    make_authority,
    make_serving_pair,
    split_certificates,
    validity_of,
    vouches_for,
)

NAMES = ["hooks.system.svc", "127.0.0.1"]
NOW = 1_800_000_000.0


def test_an_authority_vouches_for_the_names_that_it_was_asked_for() -> None:
    """OP-CRT-02"""
    authority = make_authority("ours", now=NOW, lifetime=1000)
    pair = make_serving_pair(authority, NAMES, now=NOW, lifetime=100)
    stranger = make_authority("ours", now=NOW, lifetime=1000)

    assert vouches_for(authority.certificate, pair.certificate, NAMES[:1])
    assert not vouches_for(authority.certificate, pair.certificate, ["other.svc"])
    assert not vouches_for(stranger.certificate, pair.certificate, NAMES)
    assert belong_together(pair)
    assert not belong_together(KeyPair(pair.certificate, stranger.private_key))
    with pytest.raises(ValueError, match="needs a name"):
        make_serving_pair(authority, [], now=NOW, lifetime=100)


def test_a_certificate_is_due_after_two_thirds_of_its_life() -> None:
    """OP-CRT-02"""
    validity = validity_of(make_authority("ours", now=NOW, lifetime=900).certificate)

    assert (validity.begins, validity.ends) == (NOW, NOW + 900)
    assert [validity.is_due(NOW + age) for age in (0, 599, 600, 1000)] == [
        False,
        False,
        True,
        True,
    ]
    assert validity.is_over(NOW + 900)


def test_nothing_is_renewed_before_it_is_due() -> None:
    """OP-CRT-02"""
    made = OwnCertificates.make(NAMES, NOW)

    assert made.renewed(NAMES, NOW + SERVING_LIFETIME * 0.66) is made


def test_the_serving_certificate_is_renewed_by_the_same_authority() -> None:
    """OP-CRT-02"""
    made = OwnCertificates.make(NAMES, NOW)

    renewed = made.renewed(NAMES, NOW + SERVING_LIFETIME * 0.67)

    assert renewed.serving != made.serving
    assert (renewed.authority, renewed.trusted) == (made.authority, made.trusted)
    assert vouches_for(made.trusted, renewed.serving.certificate, NAMES)


def test_a_name_more_is_a_reason_to_renew() -> None:
    """OP-CRT-02"""
    made = OwnCertificates.make(NAMES[:1], NOW)

    renewed = made.renewed(NAMES, NOW)

    assert vouches_for(made.authority.certificate, renewed.serving.certificate, NAMES)


def test_after_a_new_authority_the_old_one_is_trusted_until_it_is_over() -> None:
    """OP-CRT-02"""
    made = OwnCertificates.make(NAMES, NOW)

    renewed = made.renewed(NAMES, NOW + AUTHORITY_LIFETIME * 0.67)

    assert split_certificates(renewed.trusted) == [
        renewed.authority.certificate,
        made.authority.certificate,
    ]
    later = renewed.renewed(NAMES, NOW + AUTHORITY_LIFETIME * 1.34)
    assert made.authority.certificate not in split_certificates(later.trusted)


@pytest.mark.parametrize(
    "serving",
    [
        KeyPair(b"no certificate", b"no key"),
        make_serving_pair(make_authority("x", now=NOW, lifetime=9), NAMES, now=NOW, lifetime=9),
    ],
)
def test_a_spoilt_serving_certificate_is_replaced(serving: KeyPair) -> None:
    """OP-CRT-02"""
    made = OwnCertificates.make(NAMES, NOW)

    renewed = dataclasses.replace(made, serving=serving).renewed(NAMES, NOW)

    assert vouches_for(made.trusted, renewed.serving.certificate, NAMES)


def test_a_key_that_is_not_that_of_the_authority_makes_a_new_one() -> None:
    """OP-CRT-02"""
    made, other = (OwnCertificates.make(NAMES, NOW) for _ in range(2))
    spoilt = KeyPair(made.authority.certificate, other.authority.private_key)

    renewed = dataclasses.replace(made, authority=spoilt).renewed(NAMES, NOW)

    assert renewed.authority.certificate != made.authority.certificate
    assert made.authority.certificate in split_certificates(renewed.trusted)
