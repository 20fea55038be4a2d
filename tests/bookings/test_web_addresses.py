"""Which addresses a manifest or a document may name."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.bookings.documents.web_addresses import check_public_address
from greenroom.kernel.errors import InvalidRequest


@pytest.mark.parametrize(
    "url",
    [
        "https://files.example.com/shoot/1.zip",
        "https://files.example.com:8443/a?b=c#d",
        "https://xn--mnchen-3ya.example/a%20b",
        "https://my_bucket.s3.example.com./x",
        "https://93.184.216.34/file",
        "https://[2606:2800:220:1:248:1893:25c8:1946]/file",
        "https://10.example.com/",
        "https://localhost.example.com/",
    ],
)
def test_public_addresses_are_taken_as_they_are(url: str) -> None:
    assert check_public_address("url", url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "files.example.com/a",
        "http://files.example.com/a",
        "ftp://files.example.com/a",
        "javascript:alert(1)",
        "data:text/html,x",
        "https:///a",
        "https://",
        "https://user@files.example.com/",
        "https://user:secret@files.example.com/",
        "https://files.example.com@127.0.0.1/",
        "https://files.example.com:99999/",
        "https://files.example.com:x/",
        "https://files.example.com/a b",
        "https://files.example.com/\n",
        "https://files.example.com\\@127.0.0.1/",
        "https://files.exa\u202ampel.com/",
        "https://１２７.0.0.1/",
        "https://%31%32%37.0.0.1/",
        "https://localhost/",
        "https://LOCALHOST/",
        "https://localhost./",
        "https://a.localhost/",
        "https://printer.local/",
        "https://db.internal/",
        "https://db.INTERNAL./",
        "https://router.home.arpa/",
        "https://intranet/",
        "https://a..example.com/",
        "https://-a.example.com/",
        "https://127.0.0.1/",
        "https://127.0.0.1./",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://0/",
        "https://0.0.0.0/",
        "https://10.1.2.3/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.0.1/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://240.0.0.1/",
        "https://93.184.216.034/",
        "https://1572395042/",
        "https://[::1]/",
        "https://[::]/",
        "https://[fe80::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fc00::1]/",
        "https://[ff02::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::7f00:1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:0:7f00:1::]/",
        "https://[::1/",
        "https://[example.com]/",
        "https://files.example.com/" + "a" * 2048,
    ],
)
def test_every_other_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        check_public_address("url", url)


def _forms(address: ipaddress.IPv4Address) -> list[str]:
    """The ways to write an IPv4 address that programs understand."""
    number = int(address)
    first, second, third, fourth = address.packed
    return [
        str(address),
        str(number),
        hex(number),
        f"0{number:o}",
        f"{first}.{number & 0xFFFFFF}",
        f"{first}.{second}.{number & 0xFFFF}",
        f"{first:#x}.{second:#x}.{third:#x}.{fourth:#x}",
        f"0{first:o}.0{second:o}.0{third:o}.0{fourth:o}",
        f"0X{number:X}",
        f"{address}.",
        f"[::ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
    ]


not_public = st.ip_addresses(v=4).filter(
    lambda address: not address.is_global or address.is_multicast or address.is_reserved
)


@given(
    st.one_of(
        not_public,
        st.ip_addresses(v=4, network="10.0.0.0/8"),
        st.ip_addresses(v=4, network="127.0.0.0/8"),
        st.ip_addresses(v=4, network="169.254.0.0/16"),
        st.ip_addresses(v=4, network="172.16.0.0/12"),
        st.ip_addresses(v=4, network="192.168.0.0/16"),
        st.ip_addresses(v=4, network="224.0.0.0/4"),
    )
)
def test_no_way_of_writing_a_private_address_gets_through(address: ipaddress.IPv4Address) -> None:
    for form in _forms(address):
        with pytest.raises(InvalidRequest):
            check_public_address("url", f"https://{form}/x")


@given(st.ip_addresses(v=6))
def test_an_ipv6_address_is_taken_only_where_it_is_public(address: ipaddress.IPv6Address) -> None:
    if address.is_global and not address.is_multicast and not address.is_reserved:
        return
    with pytest.raises(InvalidRequest):
        check_public_address("url", f"https://[{address}]/x")


@given(st.text(max_size=60))
def test_any_text_is_taken_whole_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"https://files.example.com/{text}"):
        try:
            assert check_public_address("url", url) == url
        except InvalidRequest:
            continue
        assert url.startswith("https://")
        assert url.isascii()
