"""Runs `make` without the environment of an enclosing `make test`."""

import os


def outside_of_make() -> dict[str, str]:
    """Return this environment without the variables of an outer `make`.

    A nested `make` prints the folders that it enters, and inherits the outer one's options.
    """
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"}
    return {name: value for name, value in os.environ.items() if name not in inherited}
