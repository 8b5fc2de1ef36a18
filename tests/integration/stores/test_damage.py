"""A broker with damaged data is distinguished from one that does not run."""

import asyncio
import re
from datetime import timedelta

import pytest

from taskmill_local.errors import StoreFailed
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.server import Server


def test_data_that_lost_its_last_pages_is_told_with_the_remedy(home):
    prepare_home(home)

    async def start():
        server = Server("Kafka", home)
        try:
            await start_kafka(server, find_java())
        finally:
            await server.stop(timedelta(seconds=5))

    asyncio.run(start())
    (home / "stores/kafka/data/__cluster_metadata-0/quorum-state").write_bytes(b"")

    with pytest.raises(StoreFailed) as failed:
        asyncio.run(start())
    sentence = str(failed.value)
    assert re.match(r"Kafka cannot read its data in .*\(Error while reading the Quorum", sentence)
    assert "TASKMILL_HOME" in sentence
    assert "`make clean`" in sentence
    assert len(sentence.splitlines()) == 1
