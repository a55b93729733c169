"""Which addresses a cell may be connected to."""

from __future__ import annotations

import ipaddress
from typing import Literal

Kind = Literal["public", "private", "sensitive", "never"]
"""What an address is to the broker.

`public`: reachable by any grant that matches. `private`: this machine, its networks and reserved
ranges; only for a grant listed as private. `sensitive`: link-local addresses and the metadata
services of cloud machines; only when that very address is granted as private. `never`: unspecified,
multicast and broadcast.
"""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254")
)
# Not "global" in the registries, but reported so by some releases of `ipaddress`.
_RESERVED = (
    ipaddress.ip_network("192.0.0.0/24"),
    ipaddress.ip_network("192.88.99.0/24"),
    ipaddress.ip_network("240.0.0.0/4"),
    ipaddress.ip_network("::/96"),
    ipaddress.ip_network("fec0::/10"),
    ipaddress.ip_network("3fff::/20"),
    ipaddress.ip_network("5f00::/16"),
)
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


def kind_of(address: str) -> Kind:
    """What an IP address is to the broker; see `Kind`. Raises ValueError for no address."""
    outer = ipaddress.ip_address(address)
    return _kind(_embedded(outer) or outer)


def _kind(address: _Address) -> Kind:
    if address.is_unspecified or address.is_multicast or address == ipaddress.IPv4Address(0xFFFFFFFF):
        return "never"
    if address.is_link_local or address in _METADATA:
        return "sensitive"
    reserved = any(address.version == network.version and address in network for network in _RESERVED)
    return "public" if address.is_global and not reserved else "private"


def _embedded(address: _Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to: mapped, 6to4, NAT64."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
