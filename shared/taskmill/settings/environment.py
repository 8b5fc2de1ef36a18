"""One reading of the environment, with everything that is wrong in it."""

from collections.abc import Mapping
from pathlib import Path

from taskmill.settings.known import PREFIX, misspelt


class Environment:
    """Reads variables and collects problems instead of stopping at the first."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.complaints: list[str] = list(misspelt(env))
        self.away: list[str] = []
        """Settings that point to stores on other machines."""

        self.raw = env

    @property
    def is_deployed(self) -> bool:
        """Whether a variable is set that AWS always sets and no template can remove."""
        return "AWS_SESSION_TOKEN" in self.raw or self.raw.get("LAMBDA_TASK_ROOT") == "/var/task"

    def given(self, name: str) -> str:
        return self.raw.get(PREFIX + name, "")

    def complain(self, name: str, why: str) -> None:
        self.complaints.append(f"{PREFIX}{name} {why}")

    def text(self, name: str, default: str) -> str:
        return self.given(name) or default

    def file(self, name: str) -> str:
        path = self.given(name)
        if path and not Path(path).is_file():
            self.complain(name, f"is {path!r}, but there is no such file")
        return path

    def whole(self, name: str, default: str, *, least: int = 0) -> int:
        text = self.given(name) or default
        if not (text.isascii() and text.isdecimal()):
            self.complain(name, f"must be a whole number, not {text!r}")
            return 0
        if int(text) < least:
            self.complain(name, f"must be at least {least}, not {text}")
        return int(text)

    def is_at_home(self, name: str) -> bool:
        """Refuse a local setting in a deployed stage."""
        is_away = self.is_deployed or bool(self.away)
        if is_away:
            self.complain(name, "is for the local runtime only: remove it")
        return not is_away

    def is_on_at_home(self, name: str) -> bool:
        """Return whether a local switch is on; refuse it in a deployed stage."""
        return self.given(name) == "1" and self.is_at_home(name)

    def for_tests(self, name: str) -> str:
        """Return a variable that only tests of the local runtime may set."""
        text = self.given(name)
        if text and (self.is_deployed or self.away):
            self.complain(name, "is for tests of the local runtime only: remove it")
            return ""
        return text
