"""Runs `make` as a person does, though `make test` runs the tests."""

import os


def outside_of_make() -> dict[str, str]:
    """Return this environment without what a `make` above leaves in it.

    A `make` that finds itself in another one prints the folders that it enters, and takes its
    options.
    """
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"}
    return {name: value for name, value in os.environ.items() if name not in inherited}
