"""Prints how much of the tree one has to read: `python -m tests.house`."""

from tests.house.report import report

if __name__ == "__main__":
    print(*report(), sep="\n")
