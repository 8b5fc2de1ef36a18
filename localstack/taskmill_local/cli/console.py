"""The console of the live commands."""

from rich.console import Console


class OurConsole(Console):
    """Never wraps lines, so that output can be copied, and tolerates a closed pipe."""

    def __init__(self, *, to_stderr: bool = False) -> None:
        super().__init__(highlight=False, soft_wrap=True, stderr=to_stderr)

    def on_broken_pipe(self) -> None:
        # rich would exit at once, but the platform must be stopped first
        raise BrokenPipeError
