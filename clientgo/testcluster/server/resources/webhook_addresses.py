"""Where webhooks are: the validation of a ``clientConfig``.

Upstream: apiserver ``pkg/util/webhook/validation.go``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.resources.names import DNS_SUBDOMAIN
from clientgo.util.certificates import client_context
from clientgo.util.text.request_uri import RequestURIError, parse_url

_FORM = "; desired format: https://host[/path]"


def validate_client_config(config: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors of the address in a ``clientConfig`` found at ``path``."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [FieldError.required(path, "exactly one of url or service is required")]
    if url is not None:
        return _validate_url(url, f"{path}.url")
    return _validate_service(service or {}, f"{path}.service")


def validate_ca_bundle(bundle: str, path: str) -> list[FieldError]:
    """Return the error of a ``caBundle`` that holds no certificate."""
    try:
        client_context(base64.b64decode(bundle).decode("latin-1"))
    except ValueError:
        detail = "unable to load root certificates: unable to parse bytes as PEM block"
        return [FieldError.invalid(path, bundle, detail)]
    return []


def _validate_url(url: str, path: str) -> list[FieldError]:
    try:
        uri = parse_url(url)
    except RequestURIError as error:
        return [FieldError.required(path, f"url must be a valid URL: {error}{_FORM}")]
    checks = [
        (uri.scheme != "https", uri.scheme, f"'https' is the only allowed URL scheme{_FORM}"),
        (not uri.host, uri.host, f"host must be specified{_FORM}"),
        (uri.user is not None, uri.user, "user information is not permitted in the URL"),
        (bool(uri.fragment), uri.fragment, "fragments are not permitted in the URL"),
        (bool(uri.query), uri.query, "query parameters are not permitted in the URL"),
    ]
    return [FieldError.invalid(path, shown, detail) for wrong, shown, detail in checks if wrong]


def _validate_service(service: Mapping[str, Any], path: str) -> list[FieldError]:
    # Upstream passes name and namespace in the wrong order: each is reported for the other.
    errors = [
        FieldError.required(f"{path}.{reported}")
        for reported, field in (("name", "namespace"), ("namespace", "name"))
        if not service.get(field)
    ]
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(FieldError.invalid(f"{path}.port", port, detail))
    return errors + _validate_service_path(service.get("path", ""), f"{path}.path")


def _validate_service_path(url_path: str, path: str) -> list[FieldError]:
    if url_path in ("", "/"):
        return []
    if url_path == "//":
        return [FieldError.invalid(path, url_path, "segment[0] may not be empty")]
    errors = []
    if not url_path.startswith("/"):
        errors.append(FieldError.invalid(path, url_path, "must start with a '/'"))
    for index, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        problems = DNS_SUBDOMAIN.problems(segment) if segment else ["may not be empty"]
        separator = ": " if segment else " "
        errors += [
            FieldError.invalid(path, url_path, f"segment[{index}]{separator}{problem}")
            for problem in problems
        ]
    return errors
