"""The Toeplitz hash against the published verification suite, and its properties for any key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostsim.model.policy.steering import DEFAULT_KEY, SYMMETRIC_KEY, rss_input, rss_queue, toeplitz_hash

SUITE = [
    # destination, its port, source, its port, hash of the addresses, hash of addresses and ports
    ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x323E8FC2, 0x51CCC178),
    ("65.69.140.83", 4739, "199.92.111.2", 14230, 0xD718262A, 0xC626B0EA),
    ("12.22.207.184", 38024, "24.19.198.95", 12898, 0xD2D0A5DE, 0x5C2B394A),
    ("209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xAFC7327F),
    ("202.188.127.2", 1303, "153.39.163.191", 44251, 0x5D1809C5, 0x10E828A2),
    ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2CC18CD5, 0x40207D3D),
    ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0F0C461C, 0xDDE51BBF),
    ("fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4B61E985, 0x02D1FEEF),
]
KEYS = st.binary(min_size=40, max_size=40)
INPUTS = st.binary(min_size=36, max_size=36)
PORTS = st.integers(0, 65535)


@pytest.mark.parametrize(("destination", "port", "source", "source_port", "addresses", "both"), SUITE)
def test_the_published_vectors(destination, port, source, source_port, addresses, both):
    """All sixteen hashes of the verification suite, to the bit."""
    assert toeplitz_hash(DEFAULT_KEY, rss_input(source, destination)) == addresses
    assert toeplitz_hash(DEFAULT_KEY, rss_input(source, destination, source_port, port)) == both


def by_definition(key: bytes, data: bytes) -> int:
    """Bit by bit, as in the definition."""
    bits, width, value = int.from_bytes(key, "big"), 8 * len(key), 0
    for position in range(8 * len(data)):
        if data[position // 8] >> (7 - position % 8) & 1:
            value ^= bits >> (width - 32 - position) & 0xFFFFFFFF
    return value


@given(KEYS, INPUTS)
def test_tables_say_what_the_definition_says(key, data):
    """Any key, any data."""
    assert toeplitz_hash(key, data) == by_definition(key, data)


@given(KEYS, INPUTS, INPUTS)
def test_it_is_linear(key, a, b):
    """H(a ^ b) = H(a) ^ H(b)."""
    mixed = bytes(x ^ y for x, y in zip(a, b, strict=True))
    assert toeplitz_hash(key, mixed) == toeplitz_hash(key, a) ^ toeplitz_hash(key, b)


@given(st.ip_addresses(v=4), st.ip_addresses(v=4), PORTS, PORTS)
def test_the_symmetric_key_gives_both_directions_one_hash(a, b, port_a, port_b):
    """Both halves of a connection reach the same queue."""
    there, back = rss_input(str(a), str(b), port_a, port_b), rss_input(str(b), str(a), port_b, port_a)
    assert toeplitz_hash(SYMMETRIC_KEY, there) == toeplitz_hash(SYMMETRIC_KEY, back)


def test_the_default_key_tells_directions_apart():
    """The check above can fail."""
    there, back = rss_input("10.0.0.1", "10.0.0.2", 1, 2), rss_input("10.0.0.2", "10.0.0.1", 2, 1)
    assert toeplitz_hash(DEFAULT_KEY, there) != toeplitz_hash(DEFAULT_KEY, back)


def test_the_low_order_bits_choose_the_entry():
    """128 entries over four queues."""
    table = [entry % 4 for entry in range(128)]
    assert rss_queue(0x51CCC178, table) == table[0x78]
    assert rss_queue(0xFFFFFF80, table) == table[0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: rss_input("10.0.0.1", "::1"), "different families"),
        (lambda: rss_input("10.0.0.1", "10.0.0.2", 1), "both ports or none"),
        (lambda: rss_input("10.0.0.1", "10.0.0.2", 1, 65536), "65535, not 65536"),
        (lambda: toeplitz_hash(DEFAULT_KEY, bytes(37)), "at most 36 bytes, not 37"),
        (lambda: rss_queue(1, [0, 1, 2]), "power of two entries, not 3"),
    ],
)
def test_what_cannot_be_hashed_is_refused(bad, message):
    """Each with what is wrong."""
    with pytest.raises(ValueError, match=message):
        bad()
