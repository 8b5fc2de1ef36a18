"""A vault of plain dictionaries that records which secrets are read."""

from dataclasses import dataclass, field

from taskmill.settings.secrets import SecretUnreadable
from taskmill.settings.stores import Vault


@dataclass
class Cupboard:
    secrets: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, bool]] = field(default_factory=list)

    def as_vault(self) -> Vault:
        return Vault(secret=self._secret, parameter=self._parameter)

    def _secret(self, name: str, *, fresh: bool = False) -> str:
        return self._look_up(self.secrets, name, fresh=fresh)

    def _parameter(self, name: str, *, fresh: bool = False) -> str:
        return self._look_up(self.parameters, name, fresh=fresh)

    def _look_up(self, shelf: dict[str, str], name: str, *, fresh: bool) -> str:
        self.asked.append((name, fresh))
        if name not in shelf:
            raise SecretUnreadable(f"{name!r} is not here")
        return shelf[name]
