"""URLs."""

from __future__ import annotations

from typing import ClassVar

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import BOOL, STRING, CelType, list_of, map_of
from clientgo.util.text.request_uri import (
    RequestURI,
    RequestURIError,
    parse_request_uri,
    parse_url,
)

URL = CelType("kubernetes.URL")


class Url:
    """An absolute URL or path. Two are equal if their texts are."""

    __slots__ = ("text", "uri")
    cel_type: ClassVar[CelType] = URL

    def __init__(self, uri: RequestURI, text: str) -> None:
        self.uri = uri
        """The parts of the URL."""
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _url(text: str) -> Url:
    try:
        parse_request_uri(text)  # as upstream, which then looks for a fragment
        return Url(parse_url(text), text)
    except RequestURIError as error:
        problem = f"URL parse error during conversion from string: {error}"
        raise CelEvaluationError(problem) from error


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except RequestURIError:
        return False
    return True


OVERLOADS: tuple[Overload, ...] = (
    function("url", [STRING], URL, _url),
    function("isURL", [STRING], BOOL, _is_url),
    method("getScheme", URL, [], STRING, lambda url: url.uri.scheme),
    method("getHost", URL, [], STRING, lambda url: url.uri.host),
    method("getHostname", URL, [], STRING, lambda url: url.uri.hostname),
    method("getPort", URL, [], STRING, lambda url: url.uri.port),
    method("getEscapedPath", URL, [], STRING, lambda url: url.uri.escaped_path),
    method("getQuery", URL, [], map_of(STRING, list_of(STRING)), lambda url: url.uri.parameters),
)
