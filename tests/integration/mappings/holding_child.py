"""A platform to be killed: its function never answers a batch with a record b'hold'."""

import asyncio
import base64
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "localstack")]

from tests.integration.mappings.stage import DONE, Topic, mapped  # noqa: E402 - needs the path

HOLD = base64.b64encode(b"hold")


async def hold(_function, event):
    if HOLD in event:
        await asyncio.Event().wait()
    return DONE


async def main(brokers, name):
    topic = Topic(brokers=brokers, name=name)
    async with mapped(topic.plan(), hold, brokers=brokers):
        await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
