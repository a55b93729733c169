"""The gate: where a request comes from, how often, who sends it, and whether they may."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.requests import Request

from remit.http.answers import Refused
from remit.http.failures import Failures
from remit.http.identity import Identify, Identity, Role, as_identity
from remit.http.local_key import LocalKey
from remit.http.rate import Buckets, Rates, is_loopback, network_of
from remit.http.tokens import Tokens

_FORWARDED = ("forwarded", "x-real-ip", "via", "x-client-ip", "true-client-ip", "cf-connecting-ip")
_FORWARDED_BY = "x-forwarded-"

_TOKEN_NEEDED = Refused(
    401,
    "this needs a token",
    remedy="send the header `Authorization: Bearer TOKEN`; the deployer makes one: remit serve token add NAME",
    headers={"www-authenticate": 'Bearer realm="remit"'},
)

_KEY_NEEDED = Refused(
    401,
    "this needs the key of this machine, or a token",
    remedy="send `Authorization: Bearer KEY`; remit serve key prints it, remit serve token add NAME makes a token",
    headers={"www-authenticate": 'Bearer realm="remit"'},
)


class Gate:
    """Decides who may ask.

    With `identify`, that callable says who it is, and tokens count only where they are given, too. Else tokens
    of the deployment do. Where there are none, only this machine may connect, under a name of its own, and not through
    a proxy that says so; and who sends the key of this machine is the person here. Without any key everybody is who
    can connect, where the embedding program says that; once there was a token, no longer.
    """

    def __init__(
        self,
        *,
        person: str,
        identify: Identify | None,
        tokens: Tokens,
        own_tokens: bool,
        failures: Failures,
        rates: Rates,
        key: LocalKey | None = None,
        anyone_here: bool = False,
        origins: Sequence[str] = (),
    ) -> None:
        """Set it up.

        Args:
            person: who is at this machine.
            identify: of the embedding program.
            tokens: of the deployment.
            own_tokens: tokens count beside `identify`, too.
            failures: counts and records failed identifications.
            rates: how much is taken from whom.
            key: of the person at this machine, as long as there are no tokens.
            anyone_here: as long as there are no tokens, whoever connects from this machine is that person.
            origins: other origins whose pages may ask (`https://desk.example`); they still cannot read answers
                unless the embedding program adds CORS.
        """
        self._person = person
        self._identify = identify
        self._tokens = tokens
        self._count_tokens = own_tokens or identify is None
        self._need_token = self._count_tokens and tokens.exist()
        self._key = key
        self._anyone_here = anyone_here
        self._failures = failures
        self._origins = frozenset(origins)
        self._addresses = Buckets(a_minute=rates.requests, burst=rates.burst)
        self._names = Buckets(a_minute=rates.requests, burst=rates.burst)

    def look_at(self, request: Request) -> None:
        """Check where a request comes from, and how often. Raises Refused."""
        _slow_down(self._addresses.take(network_of(_address(request))))
        self._require_origin(request)
        if self._alone:
            _require_this_machine(request)

    async def admit(self, request: Request, role: Role | None) -> Identity:
        """Return who sends a request that needs a role (None: any).

        Raises:
            Refused: it comes from elsewhere, too often, from nobody known, or from somebody who may not.
        """
        self.look_at(request)
        identity = await self._who(request)
        _slow_down(self._names.take(identity.name))
        if role is not None and role not in identity.roles:
            raise Refused(403, f"{identity.name} may not do this", remedy=f"it takes the role {role}")
        return identity

    @property
    def _alone(self) -> bool:
        """Whether there is nobody but the person at this machine.

        That is so again once the last token is gone; but where no key is asked for, never again: then a removal would
        let everybody in.
        """
        if self._identify is not None:
            return False
        self._need_token = (self._need_token and self._anyone_here) or self._tokens.exist()
        return not self._need_token

    async def _who(self, request: Request) -> Identity:
        if self._alone and self._is_here(request):
            return Identity(name=self._person, alone=True)
        identity = await self._identified(request) or self._by_token(request)
        if identity is not None:
            return identity
        address = network_of(_address(request))
        _slow_down(self._failures.wait(address))
        self._failures.count(address, request)
        if self._alone:
            raise _KEY_NEEDED
        raise _TOKEN_NEEDED if self._count_tokens else Refused(401, "nobody is identified", remedy="sign in first")

    async def _identified(self, request: Request) -> Identity | None:
        if self._identify is None:
            return None
        found = self._identify(request)
        return as_identity(await found if inspect.isawaitable(found) else found)

    def _is_here(self, request: Request) -> bool:
        """Tell whether the person at this machine sends it."""
        if self._anyone_here and "authorization" not in request.headers:
            return True
        token = _bearer(request)
        return self._key is not None and bool(token) and self._key.fits(token)

    def _by_token(self, request: Request) -> Identity | None:
        token = _bearer(request)
        return self._tokens.holder(token) if self._count_tokens and token else None

    def _require_origin(self, request: Request) -> None:
        """Refuse what a page of another origin sends; programs that are no browser say nothing of it."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "none")
        if origin in self._origins:
            return
        if (origin is not None and not _same(origin, request)) or site not in ("none", "same-origin"):
            raise Refused(403, "the request comes from a page of another origin", remedy="ask from the same origin")


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _same(origin: str, request: Request) -> bool:
    """Compare host and port only: behind a proxy that ends TLS the scheme of the request is not the page's."""
    try:
        host = urlsplit(origin).netloc.lower()
    except ValueError:
        return False
    return bool(host) and host == request.headers.get("host", "").lower()


def _require_this_machine(request: Request) -> None:
    """Refuse other machines, other names (DNS rebinding) and proxies, behind which everybody looks like this one."""
    names = [value for name, value in request.scope["headers"] if name == b"host"]
    host = names[0].decode("latin-1") if len(names) == 1 else ""
    forwarded = any(name in _FORWARDED or name.startswith(_FORWARDED_BY) for name in request.headers)
    if forwarded or not is_loopback(_address(request)) or not _is_own_name(host):
        raise Refused(
            403,
            "without tokens only this machine may ask, under its own name",
            remedy="remit serve token add NAME, and ask with that token",
        )


def _is_own_name(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or is_loopback(name)


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""


def _slow_down(wait: float) -> None:
    if wait:
        seconds = str(max(1, -int(-wait // 1)))
        remedy = f"wait {seconds} s and ask again"
        raise Refused(429, "too many requests", remedy=remedy, headers={"retry-after": seconds})
