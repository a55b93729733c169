"""`Extensions`: what the extensions of an open deployment give, and who hears of their failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.errors import DeploymentError, StateError
from remit.extensions.sinks import FAULT_EVENT, Delivery, Outlet
from remit.extensions.values import (
    SCHEMES,
    ExtensionProblem,
    Fault,
    Item,
    Kind,
    ModelWanted,
    RunState,
    SecretProvider,
)
from remit.extensions.wording import described

if TYPE_CHECKING:
    from remit.extensions.values import CallEnd, CallStart, SignoffChannel
    from remit.models.protocol import Model
    from remit.state.store import State
    from remit_sandbox.signoff import SignoffDecision, SignoffRequest

_LONGEST_SECRET = 64 * 1024


class Extensions:
    """The extensions of one open deployment; close them with it.

    Attributes:
        items: what they give, in the order in which the deployment names them.
        loaded: names of the extensions that give it.
        problems: what was left out, and why.
        notes: what is odd and left nothing out.
        off: all are switched off for this run.
        known: names of all extensions that the deployment or its lock knows, loaded or not, in the form of `fold`.
    """

    def __init__(
        self,
        items: Sequence[Item] = (),
        *,
        loaded: Sequence[str] = (),
        problems: Sequence[ExtensionProblem] = (),
        notes: Sequence[str] = (),
        required: frozenset[str] = frozenset(),
        signoff: str = "",
        off: bool = False,
        known: frozenset[str] = frozenset(),
        on_close: Sequence[Callable[[], None]] = (),
    ) -> None:
        """Hold what `remit.extensions.load` found."""
        self.items = tuple(items)
        self.loaded = tuple(loaded)
        self.problems = tuple(problems)
        self.notes = tuple(notes)
        self.off = off
        self.known = known
        self._signoff = signoff
        self._outlets = [Outlet(item, required=item.extension in required) for item in self.of("audit sink")]
        self._on_close = list(on_close)
        self._secrets: dict[str, str] = {}
        self._failing: set[tuple[str, str]] = set()

    def of(self, kind: Kind) -> tuple[Item, ...]:
        """Return what they give of one kind."""
        return tuple(item for item in self.items if item.kind == kind)

    @property
    def fragments(self) -> tuple[str, ...]:
        """The prompt fragments, in the order of their names."""
        return tuple(item.value for item in sorted(self.of("prompt fragment"), key=lambda item: item.name))

    @property
    def secret_providers(self) -> Mapping[str, SecretProvider]:
        """Scheme to what resolves its references; raises DeploymentError without a word of the secret's."""
        return {item.name: self._provider(item) for item in self.of("secret provider")}

    def secret(self, reference: str | None) -> str | None:
        """Return `reference` with an extension's reference resolved; anything else as it is."""
        scheme, colon, where = (reference or "").partition(":")
        provider = self.secret_providers.get(scheme) if colon else None
        return provider(where) if provider is not None else reference

    def check_reference(self, reference: str | None, where: str) -> None:
        """Raise DeploymentError for a reference that is neither Remit's own nor an extension's.

        Args:
            reference: what is configured.
            where: the key that it stands at, for the message.
        """
        scheme, _, _ = (reference or "").partition(":")
        if reference is not None and scheme not in (*SCHEMES, *self.secret_providers):
            raise no_such_scheme(scheme, self.secret_providers, where)

    def model(self, provider: str, wanted: ModelWanted) -> Model | None:
        """Return the model that the provider of an extension makes, None where no extension gives that provider.

        Raises:
            DeploymentError: it failed.
        """
        item = next((item for item in self.of("model provider") if item.name == provider), None)
        return None if item is None else self._made(item, wanted)

    @property
    def approver(self) -> SignoffChannel | None:
        """The sign-off channel that the deployment chose, None when it chose none or extensions are off."""
        chosen = [item for item in self.of("sign-off channel") if item.name == self._signoff]
        return _Channel(chosen[0]) if chosen else None

    def memory_store(self, name: str) -> Item | None:
        """Return the memory store of this name with its origin, None where extensions are off."""
        return next((item for item in self.of("memory store") if item.name == name), None)

    def listen(self, state: State) -> None:
        """Let the audit sinks hear of everything that is written through `state` from now on."""
        if self._outlets:
            state.listener = Delivery(self._outlets, state, lambda fault: record_fault(state, fault))

    def tell(self, hook: str, told: CallStart | CallEnd | RunState) -> Iterator[Fault]:
        """Tell the observers of `hook`; yield the first failure in a row of each."""
        name = "run" if isinstance(told, RunState) else "call"
        for item in self.of("observer"):
            if item.name != hook:
                continue
            try:
                item.value.call(hook, **{name: told})
            except Exception as error:
                if (item.extension, hook) not in self._failing:
                    self._failing.add((item.extension, hook))
                    yield Fault(extension=item.extension, doing=hook, error=described(error))
            else:
                self._failing.discard((item.extension, hook))

    def close(self) -> None:
        """Close the audit sinks and take the dialects out. Calling it again does nothing."""
        outlets, self._outlets = self._outlets, []
        for outlet in outlets:
            outlet.close()
        while self._on_close:
            self._on_close.pop()()

    def _provider(self, item: Item) -> SecretProvider:
        def resolve(where: str) -> str:
            reference = f"{item.name}:{where}"
            if reference not in self._secrets:
                self._secrets[reference] = _asked(item, where)
            return self._secrets[reference]

        return resolve

    def _made(self, item: Item, wanted: ModelWanted) -> Model:
        try:
            model: Model = item.value(wanted)
        except Exception as error:
            raise DeploymentError(
                f"model provider {item.name} of extension {item.origin} failed: {described(error)}",
                remedy=getattr(error, "remedy", "") or "look at [model] in remit.toml",
            ) from error
        if not all(callable(getattr(model, method, None)) for method in ("complete", "aclose")):
            raise DeploymentError(
                f"model provider {item.name} of extension {item.origin} gave {type(model).__name__}, which is no model"
            )
        return model


def _asked(item: Item, where: str) -> str:
    try:
        value = item.value(where)
    except Exception as error:
        # What it says may hold the secret.
        raise DeploymentError(
            f"secret provider {item.name} of extension {item.origin} failed ({type(error).__name__})",
            remedy="check that the secret is there and may be read",
        ) from None
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_SECRET:
        raise DeploymentError(f"secret provider {item.name} of extension {item.origin} gave nothing that is a secret")
    return value.strip()


def no_such_scheme(scheme: str, known: Mapping[str, SecretProvider], where: str) -> DeploymentError:
    """Return the error for a reference that nobody can resolve. A secret pasted by mistake is not repeated."""
    kinds = ", ".join(f"{kind}:" for kind in (*SCHEMES, *known))
    shown = f"{scheme}: " if scheme.isalpha() and scheme.islower() and len(scheme) <= 12 else "this kind of "
    return DeploymentError(
        f"{where}: no enabled extension resolves {shown}references (known: {kinds})",
        remedy="enable the extension that does: remit extensions list",
    )


def record_fault(state: State, fault: Fault) -> None:
    """Write down that an extension failed; what cannot be written is lost, and stops nothing."""
    body = {"extension": fault.extension, "doing": fault.doing, "error": fault.error}
    try:
        state.append(FAULT_EVENT, body=body, durable=False)
    except StateError:
        return


class _Channel:
    """A sign-off channel whose answers say which one gave them."""

    def __init__(self, item: Item) -> None:
        self._item = item
        self.apart = bool(getattr(item.value, "apart", False))

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Ask over the channel."""
        answer: SignoffDecision = await self._item.value.ask(request)
        return answer if answer.channel else replace(answer, channel=self._item.name)


NO_EXTENSIONS = Extensions()
"""What an agent without a deployment has."""
