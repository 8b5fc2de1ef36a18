"""The yardstick on Celery: the same payload, results ignored."""

import os
import sys

from celery import Celery  # type: ignore[import-not-found]  # only .venv-bench has it

app = Celery("yardstick", broker=os.environ["YARDSTICK_BROKER"])
app.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)


@app.task(name="echo")  # type: ignore[untyped-decorator]  # as above
def echo(payload: dict[str, str]) -> dict[str, str]:
    return payload


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        echo.delay({"say": sys.argv[2]})
