"""Effects of handlers: lines in a file that many processes write, some of which die meanwhile."""

import json
from contextlib import suppress


class Effects:
    """Reads the file from where it stopped before: it grows with each test."""

    def __init__(self, path):
        self.path = path
        self._read_bytes = 0
        self._lines = []

    def under(self, labels):
        """Return the lines that were written under these labels."""
        self._read_on()
        return [line for line in self._lines if line["label"] in labels]

    def _read_on(self):
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read_bytes)
            more = file.read()
        whole = more[: more.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for line in whole.splitlines():
            with suppress(json.JSONDecodeError):  # a crash while writing leaves a partial line
                self._lines.append(json.loads(line))
