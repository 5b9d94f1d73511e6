"""Request bodies: JSON, YAML or protobuf into dicts.

Promises: a body that can't be parsed is answered with 400 or 415, worded as by a real API server.
Duplicate fields are found with their paths: ``fieldValidation`` reports them (by default as a
warning).

Upstream: apimachinery ``runtime/serializer/json`` and sigs.k8s.io/yaml.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable
from typing import Any

from clientgo.meta.json_values import WholeFloat
from clientgo.meta.nesting import MAX_NESTING, is_deeper_than
from clientgo.testcluster.server.http.messages import Request
from clientgo.testcluster.server.http.numbers import parse_float, parse_int
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.http.protobuf.decoding import decode_protobuf
from clientgo.testcluster.server.http.protobuf.fields import UnknownKindError
from clientgo.testcluster.server.http.protobuf.wire import ProtobufError
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    bad_request,
    unsupported_media_type,
)
from clientgo.testcluster.server.storage.deep_values import MOST_LEVELS, DeepText, encode, fold

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"
_ANY_DIGIT = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER = b"0" * 19
"""A number that may need more than 64 bits, of any digits."""

OBJECT_TYPES = (JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE)
"""Media types of bodies."""

CUSTOM_TYPES = (JSON_TYPE, YAML_TYPE)
"""Media types of custom resources, of which no program has a form in protobuf."""


_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_CONTENT_TYPE = re.compile(
    rf'\s*({_TOKEN}(?:/{_TOKEN})?)\s*(?:;\s*(?:{_TOKEN}=(?:{_TOKEN}|"[^"]*")\s*)?)*'
)


def media_type(request: Request) -> str:
    """Return the Content-Type of a body without its parameters; JSON if it is missing.

    Raises:
        FailedRequestError: 415, it is malformed.
    """
    return _parse_content_type(request.headers.get("content-type", "") or JSON_TYPE)


@functools.lru_cache(maxsize=256)
def _parse_content_type(text: str) -> str:
    found = _CONTENT_TYPE.fullmatch(text)
    if found is None:
        raise unsupported_media_type(OBJECT_TYPES)
    return found[1].lower()


def decode_object(
    request: Request, kind: str, accepted: tuple[str, ...] = OBJECT_TYPES
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the object in a body, and the problems of fields that it has twice.

    A body of null is an object without fields, and one of an unknown kind in protobuf has its type.

    Raises:
        FailedRequestError: 415 for a media type, 400 for a body that is no object of the form.
    """
    content_type = media_type(request)
    problem = f"the object provided is unrecognized (must be of type {kind}): "
    if content_type not in accepted:
        raise unsupported_media_type(accepted)
    if content_type == JSON_TYPE:
        value, duplicates = parse_json(request.body, problem)
    elif content_type == YAML_TYPE:
        value, duplicates = parse_yaml(request.body, problem)
    else:
        value, duplicates = _parse_protobuf(request.body, problem), ()
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise bad_request(f"{problem}the body is not an object")
    return value, duplicates


def decode_options(request: Request) -> dict[str, Any]:
    """Return the ``DeleteOptions`` in a body.

    Raises:
        FailedRequestError: 400, it is something else.
    """
    content_type = media_type(request)
    if content_type not in OBJECT_TYPES:
        raise unsupported_media_type(OBJECT_TYPES)
    value: Any
    if content_type == PROTOBUF_TYPE:
        value = _parse_protobuf(request.body)
    else:
        parse = parse_yaml if content_type == YAML_TYPE else parse_json
        value, _ = parse(request.body, "")
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; the body is not an object")
    # Upstream reads the type of a body, unlike its other fields, without regard to case.
    header = {name.lower(): text for name, text in value.items() if text is not None}
    version, kind = header.get("apiversion", ""), header.get("kind") or "DeleteOptions"
    if str(version).count("/") > 1:
        raise bad_request(f"unexpected GroupVersion string: {version}")
    if kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}"')
    return value


def _parse_protobuf(body: bytes, problem: str = "") -> dict[str, Any]:
    try:
        return decode_protobuf(body)
    except ProtobufError as error:
        raise bad_request(f"{problem}{error}") from error
    except UnknownKindError as error:
        return {"apiVersion": error.api_version, "kind": error.kind}


def parse_json(
    body: bytes, problem: str = "", whole: type[int] = WholeFloat
) -> tuple[Any, tuple[str, ...]]:
    """Parse a JSON body; return the value and the problems of its duplicate fields.

    ``whole`` is the type of the floats without a fraction.

    Raises:
        FailedRequestError: 400; ``problem`` begins its message.
    """
    decoder = _json_decoder(
        floats_are_known=whole is WholeFloat,
        long_numbers=_LONG_NUMBER in body.translate(_ANY_DIGIT),
    )
    parse = functools.partial(_parse, decoder)
    try:
        if is_deeper_than(body, MOST_LEVELS):
            return _parse_deep(body, parse)
        value = parse(body)
    except (ValueError, RecursionError) as error:
        shown = body[:30].decode("utf-8", "replace") or "<empty>"
        message = f"{problem}couldn't get version/kind; json parse error: {error} ({shown})"
        raise bad_request(message) from error
    return value, _duplicate_paths(body) if _may_have_duplicates(body, value) else ()


def _parse(decoder: json.JSONDecoder, body: bytes) -> Any:
    # As Go decodes text; Python would guess other encodings.
    value = decoder.decode(body.decode("utf-8", "replace"))
    if b"\\u" in body and b"\\ud" in body.lower():
        value = _whole_characters(value)
    return value


def _parse_deep(body: bytes, parse: Callable[[bytes], Any]) -> tuple[Any, tuple[str, ...]]:
    """Parse a body whose deeper parts are kept as JSON; duplicates in them are not reported."""
    if is_deeper_than(body, MAX_NESTING):
        raise ValueError("exceeded max depth")  # Go shows the bracket
    deep = DeepText(body, parse)
    value = parse(deep.text)
    duplicates = _duplicate_paths(deep.text) if _may_have_duplicates(deep.text, value) else ()
    return deep.value(value), duplicates


@functools.cache
def _json_decoder(*, floats_are_known: bool, long_numbers: bool) -> json.JSONDecoder:
    whole = WholeFloat if floats_are_known else int
    return json.JSONDecoder(
        parse_int=parse_int if long_numbers else None,
        parse_float=functools.partial(parse_float, whole=whole),
        parse_constant=_refuse_constant,
    )


def _may_have_duplicates(body: bytes, value: Any) -> bool:
    """Return True if an object in a body may have a key twice.

    Each key has a colon, and so have some texts. A value that has as many as its body, of which
    none was escaped, has lost no key.
    """
    if b"\\u003" in body:
        return True
    try:
        return encode(value).count(b":") != body.count(b":")
    except (TypeError, ValueError, OverflowError, RecursionError):
        return True


def _whole_characters(value: Any) -> Any:
    """Return the value with half surrogate pairs replaced, as Go's decoder does."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _duplicate_paths(body: bytes) -> tuple[str, ...]:
    """Return the paths of duplicate fields, in a second and slower pass."""
    tree = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    found: list[str] = []
    _collect_duplicates(tree, "", found)
    return tuple(dict.fromkeys(found))


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in the order of the body."""


def _collect_duplicates(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value:
            here = f"{path}.{key}" if path else key
            if key in seen:
                found.append(f'duplicate field "{here}"')
            seen.add(key)
            _collect_duplicates(item, here, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect_duplicates(item, f"{path}[{index}]", found)


def parse_yaml(body: bytes, problem: str = "") -> tuple[Any, tuple[str, ...]]:
    """Parse a YAML body; return the value that it has in JSON, and where it sets keys twice.

    Floats without a fraction are integers, because Go's YAML becomes JSON first.

    Raises:
        FailedRequestError: 400; ``problem`` begins its message.
    """
    if body.lstrip().startswith(b"{"):  # most clients write JSON, which is YAML
        with contextlib.suppress(FailedRequestError):
            value, duplicates = parse_json(body, whole=int)
            if not duplicates:
                return value, ()
    from clientgo.util.text.yaml_reader import YamlError, read_yaml  # not needed to start

    try:
        value, duplicates = read_yaml(body)
    except YamlError as error:
        raise bad_request(f"{problem}{error}") from error
    except RecursionError as error:
        raise bad_request(f"{problem}yaml: document is nested too deep") from error
    fold(value)
    return value, duplicates
