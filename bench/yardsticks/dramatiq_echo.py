"""The yardstick on Dramatiq: the same payload, no results."""

import os
import sys

import dramatiq  # type: ignore[import-not-found]  # only .venv-bench has it
from dramatiq.brokers.redis import RedisBroker  # type: ignore[import-not-found]  # as above

dramatiq.set_broker(RedisBroker(url=os.environ["YARDSTICK_BROKER"]))


@dramatiq.actor(queue_name="echo")  # type: ignore[untyped-decorator]  # as above
def echo(payload: dict[str, str]) -> None:
    """Take the payload; a result would go nowhere."""


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        echo.send({"say": sys.argv[2]})
