"""Says whether a store's folder still holds what it held when its server was stopped."""

import json
from contextlib import suppress
from pathlib import Path


class Seal:
    """A note of the sizes of all files, and of a word; it is good for one start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._note = folder.with_name(f"{folder.name}.sealed")

    def put(self, word: str) -> None:
        self._note.write_text(json.dumps([word, self._sizes()]))

    def take(self) -> str | None:
        """Break the seal; return its word if nothing was changed or cut off since it was put."""
        with suppress(OSError, ValueError):
            word, sizes = json.loads(self._note.read_text())
            self._note.unlink()
            return str(word) if sizes == self._sizes() else None
        return None

    def _sizes(self) -> dict[str, int]:
        files = (path for path in self._folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self._folder)): path.stat().st_size for path in files}
