"""Checks whether a store's folder still holds what it held when its server was stopped."""

import json
from contextlib import suppress
from pathlib import Path


class Checksum:
    """A note of all files' sizes and a nonce; it is valid for one start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._note = folder.with_name(f"{folder.name}.sealed")

    def put(self, word: str) -> None:
        self._note.write_text(json.dumps([word, self._sizes()]))

    def take(self) -> str | None:
        """Consume the checksum; return its nonce if nothing was changed or truncated since."""
        with suppress(OSError, ValueError):
            word, sizes = json.loads(self._note.read_text())
            self._note.unlink()
            return str(word) if sizes == self._sizes() else None
        return None

    def _sizes(self) -> dict[str, int]:
        files = (path for path in self._folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self._folder)): path.stat().st_size for path in files}
