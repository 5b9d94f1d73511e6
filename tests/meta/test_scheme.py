"""Finding the class for what an object says it is."""

from __future__ import annotations

import pytest

from clientgo.meta import DecodeError, Resource, Scheme, Unstructured, resource


@resource(group="example.com", version="v1", plural="gadgets")
class Gadget(Resource):
    """A kind without a body."""


def test_a_known_kind_is_decoded_into_its_class_and_any_other_is_unstructured() -> None:
    scheme = Scheme([Gadget])

    known = scheme.decode(b'{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{}}')
    other = scheme.decode(b'{"apiVersion":"example.com/v2","kind":"Gadget","metadata":{}}')

    assert type(known) is Gadget
    assert type(other) is Unstructured


def test_two_classes_cannot_stand_for_one_resource() -> None:
    @resource(group="example.com", version="v1", plural="gadgets")
    class Impostor(Resource):
        pass

    scheme = Scheme([Gadget, Gadget])
    with pytest.raises(ValueError, match="registered already"):
        scheme.register(Impostor)


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"apiVersion":"a/b/c","metadata":{}}'])
def test_what_is_no_object_is_an_error(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        Scheme().decode(raw)
