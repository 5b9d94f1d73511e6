from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.rest.transport.chunked import ChunkedDecoder, MalformedChunkError
from clientgo.testing.scripted_server import chunk


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


def decode(pieces: list[bytes]) -> tuple[bytes, bool]:
    decoder = ChunkedDecoder()
    body = b"".join(piece for data in pieces for piece in decoder.feed(data))
    return body, decoder.ended


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=8),
    extension=st.sampled_from([b"", b";a=b", b' ; quoted="x"']),
    trailers=st.sampled_from([b"", b"Grpc-Status: 0\r\n", b"A: b\r\nC: d\r\n"]),
    cuts=st.lists(st.integers(min_value=0), max_size=30),
)
def test_any_split_of_the_bytes_gives_the_same_body(chunks, extension, trailers, cuts):
    wire = (
        b"".join(b"%x%s\r\n%s\r\n" % (len(data), extension, data) for data in chunks)
        + b"0\r\n"
        + trailers
        + b"\r\n"
    )

    assert decode(split(wire, cuts)) == (b"".join(chunks), True)


@given(chunks=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5), data=st.data())
def test_a_message_that_was_cut_short_has_not_ended(chunks, data):
    wire = b"".join(map(chunk, chunks)) + b"0\r\n\r\n"
    kept = data.draw(st.integers(min_value=0, max_value=len(wire) - 1))

    body, ended = decode([wire[:kept]])

    assert not ended
    assert b"".join(chunks).startswith(body)


def test_byte_by_byte_gives_the_same_body():
    wire = chunk(b"one\n") + chunk(b"two\r\n") + b"0\r\n\r\n"

    assert decode([bytes([byte]) for byte in wire]) == (b"one\ntwo\r\n", True)


@pytest.mark.parametrize(
    "wire",
    [
        b"xyz\r\n",
        b"-5\r\nabc",
        b"+5\r\nabcde\r\n",
        b"1_0\r\n",
        b"\r\nabc",
        b";ext\r\n",
        b"3\r\nabcd\r\n",
        b"5" * 20000,
    ],
)
def test_what_is_not_chunked_is_refused(wire):
    with pytest.raises(MalformedChunkError):
        decode([wire])


def test_a_wrong_line_end_is_found_when_it_arrives_by_itself():
    decoder = ChunkedDecoder()
    assert decoder.feed(b"3\r\nabc") == [b"abc"]

    with pytest.raises(MalformedChunkError, match="goes on past its size"):
        decoder.feed(b"d\r\n")


def test_the_message_ends_only_after_its_trailers():
    """What is left unread would be taken for the next answer on the connection."""
    decoder = ChunkedDecoder()

    decoder.feed(b"0\r\nA: b\r\n")
    assert not decoder.ended
    decoder.feed(b"\r\n")
    assert decoder.ended
