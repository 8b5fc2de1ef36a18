"""Creates Java's class-data archive for the broker, which cuts each later start to a third."""

import asyncio
import sys
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from confluent_kafka import Consumer, Producer

from taskmill_local.errors import JavaMissing, PlatformError
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.jars import FOLDER
from taskmill_local.stores.java import Java, find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.server import Server
from taskmill_local.stores.topics import TopicPlan, create_topics

_WRITING_LIMIT = timedelta(seconds=120)


def archive_class_data(folder: Path) -> None:
    """Create the archive beside the jars if it is missing; the broker works without it too."""
    with suppress(JavaMissing):  # the start reports it, with advice; an external broker needs none
        java = find_java()
        archive = java.archive_in(folder)
        if not archive.exists():
            sys.stderr.write(
                "Kafka: preparing the class-data archive that speeds up later starts\n"
            )
            try:
                asyncio.run(_record(java, folder, archive))
            except PlatformError as error:
                sys.stderr.write(
                    "Kafka will start slowly, because preparing its class-data"
                    f" archive failed: {error}\n"
                )


async def _record(java: Java, folder: Path, archive: Path) -> None:
    unfinished = archive.with_suffix(".unfinished")
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        prepare_home(home)
        server = Server("Kafka", home)
        try:
            brokers = await start_kafka(server, java, folder, extra=java.recording(unfinished))
            await asyncio.to_thread(_use, brokers)
        finally:
            await server.stop(_WRITING_LIMIT)  # the archive is written at exit
    if unfinished.exists():
        unfinished.replace(archive)


def _use(brokers: str) -> None:
    create_topics(brokers, {"rehearsal": TopicPlan(partitions=1, configs={})})
    client = {"bootstrap.servers": brokers, "log_level": 0}
    producer = Producer({**client, "enable.idempotence": True})
    producer.produce("rehearsal", b"record")
    producer.flush(10)
    consumer = Consumer({**client, "group.id": "rehearsal", "auto.offset.reset": "earliest"})
    consumer.subscribe(["rehearsal"])
    consumer.poll(10)
    consumer.close()


if __name__ == "__main__":
    archive_class_data(FOLDER)
