"""Checksums of JSON objects and of frames: every flipped bit is found out."""

from __future__ import annotations

import random
import tracemalloc

import msgspec
import pytest
import zstandard

from webtable._checksums import has_checksum, is_intact, place, unsealed, with_checksum
from webtable.repository.page_storage.cells import MAX_RATIO, MOST_UNPACKED, JSONValue, pack, unpack
from webtable.repository.page_storage.state import Deleted


def flipped(value: bytes, at: int, bit: int) -> bytes:
    return value[:at] + bytes([value[at] ^ 1 << bit]) + value[at + 1 :]


def test_a_checksum_tells_of_every_change_of_a_few_bits():
    rng = random.Random(1)
    for length in (0, 1, 7, 300):
        value = b'{"a":"%s"}' % rng.randbytes(length).hex().encode() if length else b"{}"
        begin = place(b"row", rng.randrange(2**62))
        sealed = with_checksum(value, begin)

        assert is_intact(sealed, begin)
        assert has_checksum(sealed)
        assert unsealed(with_checksum(value)) == value
        assert not any(is_intact(flipped(sealed, at, bit), begin) for at in range(len(sealed)) for bit in range(8))
        assert not is_intact(sealed, begin ^ 1)
        assert not is_intact(value, begin)
        assert msgspec.json.decode(sealed).keys() >= {"crc32"}


def test_a_checksum_depends_on_row_and_date():
    row, now = b"5a:com.example/", 1_764_000_000_123

    right = place(row, now)
    others = {place(row, now ^ 1 << bit) for bit in range(62)}
    rows = {place(flipped(row, at, bit), now) for at in range(len(row)) for bit in range(8)}

    assert right not in others | rows
    assert len(rows) == len(row) * 8


def test_an_object_with_a_wrong_checksum_is_not_taken_for_one_without():
    sealed = with_checksum(b'{"a":1}')

    with pytest.raises(ValueError, match="checksum"):
        unsealed(sealed.replace(b"1", b"2", 1))
    assert unsealed(b'{"a":1}') == b'{"a":1}'


def test_every_frame_tells_of_every_flipped_bit():
    body = b"<p>hello</p>" * 3
    (frame,) = pack([body])

    for at in range(4, len(frame)):
        for bit in range(8):
            try:
                assert unpack(flipped(frame, at, bit)) == body
            except ValueError:
                continue


def test_a_frame_is_not_unpacked_that_claims_more_than_it_can_hold():
    (frame,) = pack([b"x" * 1_000])
    claims = b"\x28\xb5\x2f\xfd\xe4" + (len(frame) * MAX_RATIO * 2).to_bytes(8, "little") + frame[7:]

    with pytest.raises(ValueError, match="claims"):
        unpack(claims)


def test_a_frame_is_not_unpacked_that_holds_more_than_a_writer_stores():
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj(size=MOST_UNPACKED * 2)
    frame = b"".join([*(packer.compress(bytes(2**20)) for _ in range(MOST_UNPACKED >> 19)), packer.flush()])

    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="claims"):
            unpack(frame)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("body", [b"", b"x", b"\x28\xb5\x2f\xfd", b"word " * 50_000])
def test_a_body_comes_back_from_its_frame(body):
    assert unpack(pack([body])[0]) == body
    assert unpack(pack([body], compress=False)[0]) == body


def test_a_value_without_a_checksum_is_not_read():
    with pytest.raises(ValueError, match="it has no checksum"):
        JSONValue(Deleted).read(b'{"until":"2026-03-01T10:20:30Z"}', b"row", 1)
