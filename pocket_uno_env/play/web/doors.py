"""Whom the server answers: the names by which it may be called, and the pages that may call.

Another site's page names that site: as the host, if its name was made to lead here (DNS rebinding),
and as the origin, if its scripts call this server. An address made of numbers cannot be rebound.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address


class Doors:
    """Judges requests by their ``Host`` and ``Origin``.

    Parameters
    ----------
    host : str
        Where the server listens. On an address of this machine's own it answers to the names of
        those alone; on others also to any address, and to the names of the machine.
    origins : sequence of str
        Where else its page is served, by a proxy: ``"https://games.example.org"``.

    Raises
    ------
    ValueError
        When an origin is none.
    """

    def __init__(self, host: str = "127.0.0.1", origins: Sequence[str] = ()) -> None:
        self.local = is_local(host)
        self.origins = {_origin(origin) for origin in origins}
        self._names = {origin.partition("://")[2] for origin in self.origins}
        if not self.local:
            machine = socket.gethostname().lower()
            self._own = {host.lower(), machine, f"{machine}.local"}

    def refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> str | None:
        """Why a request with these headers is not answered; None if it is."""
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if not self._knows(host):
            return (
                f"This server does not answer to the host {host[:80]!r}. A proxy's is named by an "
                "option: --origin https://NAME"
            )
        if origins and (len(origins) > 1 or not self._ours(origins[0].lower(), host)):
            return "This server does not answer other sites' pages."
        return None

    def _knows(self, host: str) -> bool:
        name = hostname(host)
        if name is None:
            return False
        return host in self._names or is_local(name) or (not self.local and self._is_own(name))

    def _is_own(self, name: str) -> bool:
        return name in self._own or _address(name) is not None

    def _ours(self, origin: str, host: str) -> bool:
        """Whether a page of this origin is the server's own; it speaks plain HTTP itself."""
        return origin == f"http://{host}" or origin in self.origins


def is_local(name: str) -> bool:
    """Whether a name or an address means this machine to itself alone."""
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def hostname(host: str) -> str | None:
    """The name in a ``Host`` header, without its port; None if it is no such header."""
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{0,5})?", host)
    return None if found is None else found[1] or found[2]


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _origin(text: str) -> str:
    """An origin as browsers write it."""
    scheme, _, host = text.lower().rstrip("/").partition("://")
    if scheme not in ("http", "https") or hostname(host) is None:
        raise ValueError(
            f"--origin is {text!r}; expected the address of a page without a path, such as "
            "https://games.example.org"
        )
    return f"{scheme}://{host.removesuffix(':443' if scheme == 'https' else ':80')}"
