"""Explores every case, including the deep ones: `python -m tests.models [--traces] [name]`."""

import sys
import time

from tests.models.case import verdict_of
from tests.models.cases import CASES


def main(arguments: list[str]) -> int:
    """Print each verdict; return 1 if one differs from its case's expectation."""
    words = [word for word in arguments if not word.startswith("-")]
    failed = 0
    for case in CASES:
        if not all(word in str(case) for word in words):
            continue
        began = time.monotonic()
        verdict = verdict_of(case)
        is_expected = verdict.complaint == case.expected
        failed += not is_expected
        lines = str(verdict).splitlines()
        shown = lines if "--traces" in arguments or not is_expected else lines[:1]
        took = f"{time.monotonic() - began:.1f} s"
        print(
            "ok" if is_expected else "NOT AS EXPECTED", case, took, *shown, sep="\n    ", flush=True
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
