"""The addresses of webhooks: the same checks for admission and for conversion."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.crds.validation import validate_crd
from clientgo.testcluster.server.kinds.admission.webhook_configurations import (
    WebhookConfigurationStrategy,
)
from tests.testcluster.server.test_crd_validation import definition, webhook

_STRATEGY = WebhookConfigurationStrategy(
    "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
)
_HTTPS = "'https' is the only allowed URL scheme"
_HOST = "host must be specified"
_USER = "user information is not permitted"
_FRAGMENT = "fragments are not permitted"
_QUERY = "query parameters are not permitted"
_MALFORMED = "url must be a valid URL"


def errors_of(**config: Any) -> list[tuple[str, str]]:
    """Return field and message of each error, which are the same for every kind of webhook."""
    admission = {
        "name": "a.example.com",
        "clientConfig": config,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    of_admission, of_conversion = (
        [(error.field.removeprefix(prefix), error.detail) for error in errors]
        for errors, prefix in (
            (_STRATEGY.own_errors({"webhooks": [admission]}), "webhooks[0].clientConfig"),
            (
                validate_crd(definition(conversion=webhook(**config))),
                "spec.conversion.webhookClientConfig",
            ),
        )
    )
    assert of_admission == of_conversion
    return of_admission


@pytest.mark.parametrize(
    "url",
    [
        "https://a",
        "https://a:8443/b/c",
        "HTTPS://a",
        "hTTpS://A/B",
        "https://[::1]:8443/a",
        "https://a/@b",
        "https://a/%20",
        "https://a//b",
        "https://a?",
        "https://a#",
        "https://a:",
    ],
)
def test_an_address_is_accepted(url: str) -> None:
    assert errors_of(url=url) == []


@pytest.mark.parametrize(
    ("url", "problems"),
    [
        ("http://a", [_HTTPS]),
        ("a", [_HTTPS, _HOST]),
        ("", [_HTTPS, _HOST]),
        ("//a", [_HTTPS]),
        ("https:", [_HOST]),
        ("https:a", [_HOST]),
        ("https:///a", [_HOST]),
        ("https:/a", [_HOST]),
        ("https://u@a", [_USER]),
        ("https://u:p@a/b", [_USER]),
        ("https://@a", [_USER]),
        ("https://a@b@c", [_USER]),
        ("https://u@", [_HOST, _USER]),
        ("https://a?b", [_QUERY]),
        ("https://a/?b=@c", [_QUERY]),
        ("https://a#b", [_FRAGMENT]),
        ("https://a/b?c#d", [_FRAGMENT, _QUERY]),
        ("ftp://u@?a#b", [_HTTPS, _HOST, _USER, _FRAGMENT, _QUERY]),
        ("https://a\n", [_MALFORMED]),
        ("https://a\x00b/", [_MALFORMED]),
        ("https://a/\x7f", [_MALFORMED]),
        ("https://a b", [_MALFORMED]),
        ("https://a:x", [_MALFORMED]),
        ("https://[::1", [_MALFORMED]),
        ("https://a/%zz", [_MALFORMED]),
        ("\thttps://a", [_MALFORMED]),
    ],
)
def test_an_address_is_refused(url: str, problems: list[str]) -> None:
    errors = errors_of(url=url)

    assert [field for field, _ in errors] == [".url"] * len(problems)
    for (_, detail), problem in zip(errors, problems, strict=True):
        assert problem in detail


@pytest.mark.parametrize(
    ("service", "fields"),
    [
        ({"name": "a", "namespace": "b"}, []),
        ({"name": "a", "namespace": "b", "path": "/c/d", "port": 1}, []),
        ({}, ["name", "namespace"]),
        ({"name": "a", "namespace": "b", "port": 0}, ["port"]),
        ({"name": "a", "namespace": "b", "port": 65536}, ["port"]),
        ({"name": "a", "namespace": "b", "path": "//"}, ["path"]),
        ({"name": "a", "namespace": "b", "path": "/a//b"}, ["path"]),
    ],
)
def test_a_service_is_checked(service: dict[str, Any], fields: list[str]) -> None:
    assert [field for field, _ in errors_of(service=service)] == [f".service.{f}" for f in fields]


@pytest.mark.parametrize("config", [{}, {"url": "https://a", "service": {"name": "a"}}])
def test_there_is_one_address(config: dict[str, Any]) -> None:
    assert errors_of(**config) == [("", "exactly one of url or service is required")]
