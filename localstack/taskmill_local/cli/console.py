"""The console of the live commands."""

from rich.console import Console


class OurConsole(Console):
    """Leaves lines whole, so that what is shown can be copied, and lets a reader go away."""

    def __init__(self, *, to_stderr: bool = False) -> None:
        super().__init__(highlight=False, soft_wrap=True, stderr=to_stderr)

    def on_broken_pipe(self) -> None:
        # rich would leave the program at once; we have a platform to stop.
        raise BrokenPipeError
