"""Fuzzes the decoders and the HTTP front for the given time: `make fuzz MINUTES=5`."""

import argparse
import random
import sys

from tests.fuzz import decoders, front
from tests.fuzz.explore import explore


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if asked.seed is None else asked.seed
    say(f"seed {seed}")
    with front.a_front() as port:
        targets = (*decoders.TARGETS, *front.targets(port))
        for target in targets:
            seconds = asked.minutes * 60 / len(targets)
            fed = explore(target, seconds=seconds, seed=seed)
            say(f"{target.name}: {fed:,} tried, and none broke anything")


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
