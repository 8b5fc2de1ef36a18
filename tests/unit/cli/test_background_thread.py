"""Blocking calls run in background threads."""

import asyncio
import subprocess
import sys

import pytest

from taskmill_local.background_thread import in_background_thread


def test_a_call_gives_its_answer_or_raises_where_it_is_awaited():
    assert asyncio.run(in_background_thread(divmod, 7, 2)) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_background_thread(divmod, 7, 0))


def test_a_call_that_never_returns_does_not_keep_the_program_from_ending():
    program = """
import asyncio, threading
from taskmill_local.background_thread import in_background_thread

async def main():
    blocked = asyncio.ensure_future(in_background_thread(threading.Event().wait))
    await asyncio.sleep(0)
    blocked.cancel()

asyncio.run(main())
print("ended")
"""
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert (answer.stdout, answer.stderr) == ("ended\n", "")
