"""What is known of a setting besides its value: kind, bounds, help, and its names everywhere."""

from __future__ import annotations

from typing import Any, Literal

from mpiboot.model.record import dataclass, field

Kind = Literal[
    "text", "secret", "url", "path", "int", "seconds", "flag", "words", "pairs", "slots", "sources",
    "ranks",
]  # fmt: skip

PRIVATE = (
    "secret",
    "url",
)  # kinds whose values nobody else shall see, a password in a URL among them

WORKER = "worker"
LAUNCHER = "launcher"
LOCAL = "local"
BOTH = (WORKER, LAUNCHER)
LAUNCHING = (LAUNCHER, LOCAL)
ALL = (WORKER, LAUNCHER, LOCAL)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What is known of one setting besides its value."""

    name: str
    kind: Kind
    default: Any
    help: str
    roles: tuple[str, ...]
    short: tuple[str, ...]
    least: float | None
    most: float | None
    choices: tuple[str, ...]
    metavar: str

    @property
    def key(self) -> str:
        """The YAML key: the field's name without its unit."""
        return self.name.removesuffix("_s")

    @property
    def flag(self) -> str:
        """The long flag."""
        return "--" + self.key.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "MPIBOOT_" + self.key.upper()

    @property
    def shown_default(self) -> str:
        """The default as people write it."""
        return self.show(self.default)

    def show(self, value: Any) -> str:
        """Return a value as people write it."""
        if self.kind == "flag":
            return "yes" if value else "no"
        if self.kind in ("words", "pairs", "sources"):
            return " ".join(value) or "none"
        return f"{value:g}" if isinstance(value, float) else str(value if value != "" else "none")


def setting(
    kind: Kind,
    default: object,
    text: str,
    *,
    roles: tuple[str, ...] = BOTH,
    short: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    metavar: str = "",
) -> Any:
    """Declare one field of Settings.

    Args:
        kind: how a raw text becomes the value.
        default: the value when nobody says anything.
        text: the help, in one sentence without a full stop.
        roles: which roles take it as a flag.
        short: further flags.
        least: smallest number allowed.
        most: largest number allowed.
        choices: the texts allowed.
        metavar: how the value is called in the help.
    """
    metadata = {
        "kind": kind,
        "help": text,
        "roles": roles,
        "short": short,
        "least": least,
        "most": most,
        "choices": choices,
        "metavar": metavar,
    }
    # A traceback may hold the settings' repr.
    return field(default=default, metadata=metadata, repr=kind not in PRIVATE)
