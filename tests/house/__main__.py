"""Prints how much of the tree a reader has to read: `python -m tests.house`."""

from tests.house.report import report

if __name__ == "__main__":
    print(*report(), sep="\n")
