from __future__ import annotations

import base64
import dataclasses

import pytest

from clientgo.rest import (
    ConfigError,
    Identity,
    Impersonation,
    RestConfig,
    StaticCredentials,
    basic_auth,
    bearer_token,
    limiter_of,
)
from clientgo.testing import AutoClock
from clientgo.util.flowcontrol import AlwaysRateLimiter


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://host:6443", "https://host:6443"),
        ("https://host:6443/", "https://host:6443"),
        ("http://127.0.0.1:8001", "http://127.0.0.1:8001"),
        ("localhost:8080", "http://localhost:8080"),
        ("https://host/k8s/clusters/c-1/", "https://host/k8s/clusters/c-1"),
        ("https://[::1]:6443", "https://[::1]:6443"),
    ],
)
def test_a_server_is_a_url(given, url):
    assert RestConfig(server=given).server == url


@pytest.mark.parametrize(
    "given",
    [
        "",
        "http://",
        "ftp://host",
        "https://host:port",
        "https://host:99999",
        "https://h?a=b",
        "https://h#f",
        "https://a..b",
        f"https://{'a' * 64}.example",
    ],
)
def test_what_is_no_url_is_refused_at_once(given):
    with pytest.raises(ConfigError, match="write it like https://"):
        RestConfig(server=given)


def test_replacing_a_field_checks_it_too():
    with pytest.raises(ConfigError):
        dataclasses.replace(RestConfig(server="http://host"), server="nonsense://")


@pytest.mark.parametrize("credentials", [bearer_token("s3cret"), basic_auth("user", "s3cret")])
def test_no_text_form_shows_a_secret(credentials):
    """REST-21."""
    config = RestConfig(server="http://host", credentials=credentials)

    for text in (repr(config), str(config), repr(credentials), repr(credentials.current())):
        assert "s3cret" not in text
        assert "czNjcmV0" not in text
        assert "dXNlcjpzM2NyZXQ" not in text


@pytest.mark.parametrize(
    ("server", "url", "pair"),
    [
        ("https://user:s3cret@host:6443/a/", "https://host:6443/a", "user:s3cret"),
        ("user:s3c%2Fret@[::1]:6443", "http://[::1]:6443", "user:s3c/ret"),
        ("https://user@host", "https://host", "user:"),
    ],
)
def test_a_user_in_the_servers_url_becomes_credentials(server, url, pair):
    """As in Go."""
    config = RestConfig(server=server)
    header = f"Basic {base64.b64encode(pair.encode()).decode()}"

    assert config.server == url
    assert config.credentials.current().authorization == header
    assert dataclasses.replace(config).credentials.current().authorization == header
    assert "s3c" not in repr(config)


def test_a_user_in_the_servers_url_is_above_a_token():
    """As kubectl: http.Client sets the header before client-go does."""
    config = RestConfig(server="https://user:s3cret@host", credentials=bearer_token("t"))

    assert config.credentials.current().authorization == "Basic dXNlcjpzM2NyZXQ="
    assert not config.credentials.renew(config.credentials.current())


@pytest.mark.parametrize(
    "server",
    [
        "ftp://user:s3cret@host",
        "https://user:s3/cret@host",
        "https://user:s3cret@host:port",
        "https://user:s3cret@host?a=b",
        "https://user:s3cret@[host",
        "user:s3cret@",
    ],
)
def test_a_bad_url_is_refused_without_its_password(server):
    with pytest.raises(ConfigError) as error:
        RestConfig(server=server)

    assert "s3" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_proxy_credentials_are_not_shown_either():
    """REST-21."""
    assert "pass" not in repr(RestConfig(server="http://host", proxy="http://user:pass@proxy:3128"))


def test_certificate_files_may_be_shown():
    identity = Identity(cert_file="/a.crt", key_file="/a.key")

    assert "/a.crt" in repr(StaticCredentials(identity))


@pytest.mark.parametrize(("burst", "through"), [(0, 10), (2, 2)])
def test_a_rate_allows_ten_requests_without_a_pause_unless_told_otherwise(burst, through):
    """REST-01."""
    clock = AutoClock()
    limiter = limiter_of(RestConfig(server="http://host", qps=7, burst=burst, clock=clock))

    assert limiter is not None
    assert limiter.qps == 7
    assert [limiter.try_accept() for _ in range(through + 1)] == [True] * through + [False]


@pytest.mark.parametrize("qps", [0, -1])
@pytest.mark.parametrize("burst", [0, 3])
def test_without_a_positive_rate_there_is_no_limit(qps, burst):
    """REST-01: client-go limits to 5 requests a second for a rate of 0."""
    assert limiter_of(RestConfig(server="http://host", qps=qps, burst=burst)) is None


def test_an_explicit_limiter_wins():
    """REST-01."""
    limiter = AlwaysRateLimiter()

    assert limiter_of(RestConfig(server="http://host", qps=-1, limiter=limiter)) is limiter


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"user": ""}, "nobody is impersonated; name the user to act as"),
        ({"user": "a\nb"}, "has line breaks or control characters"),
        ({"user": "a", "groups": ("b\r",)}, "'a' has line breaks or control characters"),
        ({"user": "a", "extra": {"b": ("c\0",)}}, "'a' has line breaks or control characters"),
    ],
)
def test_an_impersonation_that_cannot_be_sent_is_refused(given, problem):
    with pytest.raises(ConfigError, match=problem):
        Impersonation(**given)
