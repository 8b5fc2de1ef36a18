"""The environment as it was given, and all that is to be complained about."""

from collections.abc import Mapping
from pathlib import Path

from taskmill.settings.known import PREFIX, misspelt


class Environment:
    """One reading of it, which goes on after a complaint."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.complaints: list[str] = list(misspelt(env))
        self.away: list[str] = []
        """Settings that lead to stores beyond this machine."""

        self.raw = env

    @property
    def is_deployed(self) -> bool:
        """Whether there is what the real platform always sets, and no template can take away."""
        return "AWS_SESSION_TOKEN" in self.raw or self.raw.get("LAMBDA_TASK_ROOT") == "/var/task"

    def given(self, name: str) -> str:
        return self.raw.get(PREFIX + name, "")

    def complain(self, name: str, words: str) -> None:
        self.complaints.append(f"{PREFIX}{name} {words}")

    def text(self, name: str, default: str) -> str:
        return self.given(name) or default

    def file(self, name: str) -> str:
        path = self.given(name)
        if path and not Path(path).is_file():
            self.complain(name, f"is {path!r}, where no file is")
        return path

    def whole(self, name: str, default: str, *, least: int = 0) -> int:
        text = self.given(name) or default
        if not (text.isascii() and text.isdecimal()):
            self.complain(name, f"must be a whole number, not {text!r}")
            return 0
        if int(text) < least:
            self.complain(name, f"must be {least} at least, not {text}")
        return int(text)

    def is_at_home(self, name: str) -> bool:
        """Complain about a setting of the local runtime in a stage that is deployed."""
        is_away = self.is_deployed or bool(self.away)
        if is_away:
            self.complain(name, "is for the local runtime only: take it away")
        return not is_away

    def is_on_at_home(self, name: str) -> bool:
        """Return whether a switch of the local runtime is on; complain where it is deployed."""
        return self.given(name) == "1" and self.is_at_home(name)

    def for_tests(self, name: str) -> str:
        """Return what only tests of the local runtime may set."""
        text = self.given(name)
        if text and (self.is_deployed or self.away):
            self.complain(name, "is for tests of the local runtime only: take it away")
            return ""
        return text
