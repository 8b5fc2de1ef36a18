"""Settings of outgoing webhooks, read once; reports all problems together."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Self

from msgspec import Struct

from taskmill.core.errors import SettingsInvalid
from taskmill.settings.environment import Environment
from taskmill.settings.stores import StoreSettings, Vault


class WebhookSettings(Struct, frozen=True, kw_only=True):
    read_secrets: Callable[[], str]
    """Returns the signing secrets by name."""

    ca_file: str = ""
    api_host: str = ""
    """Host of this deployment's own gateway, which no webhook may call."""

    reaches_loopback: bool = False
    """Whether webhooks may call this machine; only on a developer's machine."""

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, vault: Vault | None = None) -> Self:
        """Read the settings, or raise with everything that is missing or wrong."""
        environment = Environment(env)
        stores = StoreSettings(environment, ("kafka", "redis"), vault or Vault())
        # The addresses of the stores show whether this is a developer's machine.
        stores.kafka()
        stores.redis()
        settings = cls(
            read_secrets=_secrets(environment, stores),
            ca_file=environment.file("WEBHOOK_CA_FILE"),
            api_host=environment.text("API_HOST", "").lower(),
            reaches_loopback=environment.is_on_at_home("WEBHOOK_LOOPBACK"),
        )
        if environment.complaints:
            raise SettingsInvalid("; ".join(environment.complaints))
        return settings


def _secrets(environment: Environment, stores: StoreSettings) -> Callable[[], str]:
    if file := environment.given("WEBHOOK_SECRET_FILE"):
        if environment.is_at_home("WEBHOOK_SECRET_FILE"):
            return partial(_text_of, Path(file))
    elif environment.given("WEBHOOK_SECRET"):
        return partial(stores.secret_of, "WEBHOOK_SECRET", fresh=True)
    else:
        environment.complain(
            "WEBHOOK_SECRET", "is missing: set the secret that webhooks are signed with"
        )
    return str


def _text_of(file: Path) -> str:
    """Read a file that may be missing or be created later."""
    return file.read_text() if file.is_file() else ""
