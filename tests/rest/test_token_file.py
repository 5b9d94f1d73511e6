"""Tokens that stand in files."""

from __future__ import annotations

import logging
import re

import pytest

from clientgo.rest import ConfigError, Identity
from clientgo.rest.config.auth.token_file import TokenFile
from clientgo.testing import FakeClock

MINUTE = 60.0


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


@pytest.fixture
def clock():
    return FakeClock()


def token_of(credentials: TokenFile) -> str:
    return credentials.current().authorization.removeprefix("Bearer ")


def test_white_space_around_the_token_is_not_part_of_it(path):
    path.write_text("\n  first \r\n")

    assert token_of(TokenFile(str(path))) == "first"


def test_the_file_is_read_again_after_a_minute(path, clock):
    credentials = TokenFile(str(path), clock=clock)
    path.write_text("second")

    assert token_of(credentials) == "first"
    clock.step(MINUTE)
    assert token_of(credentials) == "second"


def test_the_file_is_read_again_after_a_401(path, clock):
    credentials = TokenFile(str(path), clock=clock)
    refused = credentials.current()
    path.write_text("second")

    assert credentials.renew(refused)
    assert token_of(credentials) == "second"


def test_there_is_nothing_to_try_after_a_401_while_the_file_is_the_same(path, clock):
    credentials = TokenFile(str(path), clock=clock)

    assert not credentials.renew(credentials.current())


def test_a_token_that_another_thread_has_read_meanwhile_is_tried(path, clock):
    credentials = TokenFile(str(path), clock=clock)
    refused = credentials.current()
    path.write_text("second")
    credentials.renew(refused)
    path.unlink()

    assert credentials.renew(refused)


BROKEN = {
    "missing": None,
    "empty": b"",
    "only white space": b" \n",
    "half of a binary file": b"\x00\xff\xfe",
    "two lines": b"a\nb",
}


def put(path, content: bytes | None) -> None:
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_a_file_that_is_broken_for_a_moment_keeps_the_last_token(path, clock, content, caplog):
    """FIELD-61: the kubelet replaces the token of a pod. client-go keeps the last token too."""
    credentials = TokenFile(str(path), clock=clock)
    put(path, content)
    with caplog.at_level(logging.WARNING, "clientgo.rest"):
        for _ in range(3):
            clock.step(MINUTE)
            assert token_of(credentials) == "first"
    put(path, b"second")

    assert token_of(credentials) == "second"
    [warning] = caplog.messages
    assert str(path) in warning
    assert warning.endswith("(until then the last token is used)")


@pytest.mark.parametrize("content", BROKEN.values(), ids=list(BROKEN))
def test_a_file_that_never_had_a_token_is_refused_when_it_is_loaded(path, content):
    put(path, content)

    with pytest.raises(ConfigError, match=re.escape(str(path))):
        TokenFile(str(path))


def test_a_file_that_cannot_be_read_yet_leaves_the_token_that_stands_beside_it(path, clock):
    """As client-go: the file wins once it can be read."""
    path.unlink()
    credentials = TokenFile(str(path), Identity(authorization="Bearer beside"), clock=clock)

    assert token_of(credentials) == "beside"
    path.write_text("first")
    assert token_of(credentials) == "first"


def test_a_certificate_goes_along_with_the_token(path, clock):
    credentials = TokenFile(str(path), Identity(cert_file="c", key_file="k"), clock=clock)

    assert credentials.current() == Identity(
        authorization="Bearer first", cert_file="c", key_file="k"
    )


def test_no_text_shows_the_token(path, clock):
    path.write_text("a secret\nof two lines")

    with pytest.raises(ConfigError) as caught:
        TokenFile(str(path), clock=clock)
    assert "secret" not in str(caught.value)
    path.write_text("secret")
    assert "secret" not in repr(TokenFile(str(path), clock=clock))
