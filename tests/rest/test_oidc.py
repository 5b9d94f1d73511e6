"""ID tokens of an issuer, which is a scripted server."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from clientgo.rest import ConfigError, Identity
from clientgo.rest.config.auth.oidc import oidc_credentials
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    hang_up,
)

TLS = Path(__file__).parent.parent / "data" / "tls"
METADATA = "/realm/.well-known/openid-configuration"
TOKEN = "/token"
NOW = 1_000_000.0
NOBODY = Identity()


def jwt(expires: float | None, mark: str = "a") -> str:
    claims = {} if expires is None else {"exp": expires}
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"header.{payload}.{mark}"


OLD = jwt(NOW + 60, "old")
NEW = jwt(NOW + 3600, "new")


@pytest.fixture(name="issuer")
def _issuer() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.on(METADATA, answer_json({"token_endpoint": f"{server.url}{TOKEN}"}))
        server.on(TOKEN, answer_json({"id_token": NEW, "refresh_token": "second"}))
        yield server


@pytest.fixture(name="clock")
def _clock() -> FakeClock:
    return FakeClock(wall=NOW)


def config(issuer: ScriptedServer, **changes: str) -> dict[str, str]:
    given = {
        "idp-issuer-url": f"{issuer.url}/realm/",
        "client-id": "me",
        "refresh-token": "first",
        "id-token": OLD,
    }
    return given | {name.replace("_", "-"): value for name, value in changes.items()}


def form_of(request) -> dict[str, str]:
    return {name: value for name, [value] in parse_qs(request.body.decode()).items()}


def test_a_token_is_used_until_ten_seconds_before_it_expires(issuer, clock):
    credentials = oidc_credentials(config(issuer), NOBODY, clock=clock)
    clock.step(50.0)
    assert credentials.current().authorization == f"Bearer {OLD}"
    assert issuer.requests == []

    clock.step(0.5)
    assert credentials.current().authorization == f"Bearer {NEW}"
    assert credentials.current().authorization == f"Bearer {NEW}"
    assert [(r.method, r.path) for r in issuer.requests] == [("GET", METADATA), ("POST", TOKEN)]
    assert form_of(issuer.requests[1]) == {
        "grant_type": "refresh_token",
        "refresh_token": "first",
        "client_id": "me",
    }


@pytest.mark.parametrize("token", ["", jwt(None), jwt(NOW), jwt(NOW + 5), jwt(1.5)])
def test_a_token_that_cannot_be_used_any_more_is_renewed(issuer, clock, token):
    credentials = oidc_credentials(config(issuer, id_token=token), NOBODY, clock=clock)

    assert credentials.current().authorization == f"Bearer {NEW}"


def test_a_refused_token_is_renewed(issuer, clock):
    credentials = oidc_credentials(config(issuer), NOBODY, clock=clock)

    assert credentials.renew(credentials.current())
    assert credentials.current().authorization == f"Bearer {NEW}"


def test_the_newest_refresh_token_is_used(issuer, clock):
    """FIELD-67: issuers take each refresh-token once."""
    issuer.on(
        TOKEN,
        answer_json({"id_token": jwt(NOW), "refresh_token": "second"}),
        answer_json({"id_token": jwt(NOW)}),
    )
    credentials = oidc_credentials(config(issuer, id_token=""), NOBODY, clock=clock)
    for _ in range(3):
        credentials.current()

    sent = [form_of(r)["refresh_token"] for r in issuer.requests if r.path == TOKEN]
    assert sent == ["first", "second", "second"]


def test_a_client_secret_is_sent_in_a_header_or_if_that_is_refused_in_a_field(issuer, clock):
    """As golang.org/x/oauth2."""
    issuer.on(
        TOKEN, answer_json({"error": "invalid_client"}, status=401), answer_json({"id_token": NEW})
    )
    credentials = oidc_credentials(
        config(issuer, id_token="", client_secret="a:b c"), NOBODY, clock=clock
    )
    credentials.current()

    [first, second] = [r for r in issuer.requests if r.path == TOKEN]
    assert first.headers["authorization"] == "Basic " + base64.b64encode(b"me:a%3Ab+c").decode()
    assert "client_secret" not in form_of(first)
    assert "authorization" not in second.headers
    assert form_of(second)["client_secret"] == "a:b c"


def test_a_certificate_goes_along(issuer, clock):
    credentials = oidc_credentials(config(issuer), Identity(cert_file="c"), clock=clock)

    assert credentials.current() == Identity(authorization=f"Bearer {OLD}", cert_file="c")


FAILURES = {
    "the metadata": (METADATA, answer_status(404, "NotFound"), "answered 404 to the request for"),
    "a redirect": (METADATA, answer(302, b""), "answered 302 to the request for its metadata"),
    "metadata that is none": (METADATA, answer(200, b"<html>"), "gave no metadata with a token"),
    "metadata without": (METADATA, answer_json({}), "gave no metadata with a token_endpoint"),
    "an endpoint over HTTP": (
        METADATA,
        answer_json({"token_endpoint": "http://issuer.test/token"}),
        "the token_endpoint of the OIDC issuer is plain HTTP, where secrets are not sent",
    ),
    "a hang-up": (METADATA, hang_up(), "cannot be asked: "),
    "a refusal": (
        TOKEN,
        answer_json({"error": "invalid_grant", "error_description": "first: s3cret"}, status=400),
        "gave no new token: invalid_grant ...: ...; log in again",
    ),
    "a page": (TOKEN, answer(500, b"first s3cret"), "gave no new token: HTTP 500; log in again"),
    "no JSON": (TOKEN, answer(200, b"s3cret"), "gave an answer to the refresh-token that is none"),
    "no id_token": (TOKEN, answer_json({"access_token": "s3cret"}), "gave no id_token"),
    "no JWT": (TOKEN, answer_json({"id_token": "s3cret"}), "the id-token is no JWT"),
    "an endless answer": (TOKEN, answer(200, b"x" * (1 << 21)), "gave too long an answer"),
}


@pytest.mark.parametrize(("path", "scripted", "problem"), FAILURES.values(), ids=list(FAILURES))
def test_a_failure_is_one_sentence_without_a_secret(issuer, clock, path, scripted, problem):
    issuer.on(path, scripted)
    credentials = oidc_credentials(
        config(issuer, id_token="", client_secret="s3cret"), NOBODY, clock=clock
    )

    with pytest.raises(ConfigError) as caught:
        credentials.current()
    assert problem in str(caught.value)
    for secret in ("s3cret", "first"):
        assert secret not in repr((caught.value, caught.value.__cause__))


def test_a_token_that_has_expired_without_a_way_to_renew_it_is_an_error(issuer, clock):
    credentials = oidc_credentials(
        config(issuer, id_token=jwt(NOW), refresh_token=""), NOBODY, clock=clock
    )

    with pytest.raises(ConfigError, match=r"has expired, and there is no refresh-token; log in"):
        credentials.current()


ENTRIES = {
    "no issuer": ({"idp_issuer_url": ""}, "the oidc auth-provider has no idp-issuer-url"),
    "no client": ({"client_id": ""}, "the oidc auth-provider has no client-id"),
    "no URL": ({"idp_issuer_url": "issuer"}, "idp-issuer-url is no URL: issuer"),
    "plain HTTP": ({"idp_issuer_url": "http://i.test"}, "idp-issuer-url is plain HTTP"),
    "no JWT": ({"id_token": "s3cret"}, "the id-token is no JWT"),
    "no base64": ({"idp_certificate_authority_data": "*"}, "cannot be used: it is not base64"),
    "no file": ({"idp_certificate_authority": "/none"}, "/none: the certificate authority of"),
    "no PEM": ({"idp_certificate_authority_data": "YQ=="}, "cannot be used: "),
}


@pytest.mark.parametrize(("changes", "problem"), ENTRIES.values(), ids=list(ENTRIES))
def test_a_bad_entry_is_refused_when_it_is_loaded(issuer, changes, problem):
    with pytest.raises(ConfigError) as caught:
        oidc_credentials(config(issuer, **changes), NOBODY)

    assert problem in str(caught.value)
    assert "s3cret" not in repr((caught.value, caught.value.__cause__))


@pytest.fixture(name="secure_issuer")
def _secure_issuer() -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
    with ScriptedServer(tls=context) as server:
        server.on(METADATA, answer_json({"token_endpoint": f"{server.url}{TOKEN}"}))
        server.on(TOKEN, answer_json({"id_token": NEW}))
        yield server


AUTHORITIES = {
    "as a file": {"idp_certificate_authority": str(TLS / "ca.crt")},
    "as data": {
        "idp_certificate_authority_data": base64.b64encode((TLS / "ca.crt").read_bytes()).decode()
    },
}


@pytest.mark.parametrize("authority", AUTHORITIES.values(), ids=list(AUTHORITIES))
def test_the_issuer_is_trusted_by_its_own_authority(secure_issuer, clock, authority):
    given = config(secure_issuer, id_token="", **authority)

    assert oidc_credentials(given, NOBODY, clock=clock).current().authorization == f"Bearer {NEW}"


def test_an_issuer_without_trust_gets_nothing(secure_issuer, clock):
    """FIELD-68."""
    given = config(secure_issuer, id_token="")

    with pytest.raises(ConfigError, match="cannot be asked: its certificate is not trusted: "):
        oidc_credentials(given, NOBODY, clock=clock).current()
    assert secure_issuer.requests == []
