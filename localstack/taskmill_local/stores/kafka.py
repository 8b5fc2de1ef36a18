"""A single-node Kafka broker in KRaft mode."""

import asyncio
import os
import re
import shutil
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from taskmill_local.errors import StoreFailed
from taskmill_local.stores import jars
from taskmill_local.stores.java import Java
from taskmill_local.stores.ports import free_ports
from taskmill_local.stores.server import Server

_CLUSTER_ID = "dGFza21pbGwtbG9jYWwAAA"
_LARGEST_RECORD_BATCH = 2 * 2**20
_JVM = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # the second compiler uses CPU for longer than most runs last
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
)
_CAUSE = re.compile(r" ERROR .*\n(?:[\w.$]+(?:Exception|Error)): (.*)")
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "message.max.bytes": _LARGEST_RECORD_BATCH,
    "replica.fetch.max.bytes": _LARGEST_RECORD_BATCH,
    "log.message.timestamp.type": "LogAppendTime",
    "default.replication.factor": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 2,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    # After a kill, the restarted controller waits this long for the broker that it knew.
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
    # An idle controller writes twice a second to its log and to its followers.
    "metadata.max.idle.interval.ms": 10_000,
    "log.cleaner.dedupe.buffer.size": 16 * 2**20,
}


async def start_kafka(
    server: Server,
    java: Java,
    folder: Path = jars.FOLDER,
    extra: tuple[str, ...] | None = None,
    *,
    front: int | None = None,
) -> str:
    """Start the broker and return its address; `extra` options override the fast-start defaults.

    With a `front`, the broker directs its clients to that port, where a proxy forwards them.
    """
    if extra is None:
        extra = java.replaying(java.archive_in(folder))
    port, controller_port = await server.ports(2)
    class_path = jars.class_path(folder)
    is_used = (server.folder / "data").exists()
    command = (str(java.program), *_JVM, *java.silencing(), *_scratch(server.folder))
    await _format(server, (*command, "-cp", class_path))
    settings = server.folder / "server.properties"
    settings.write_text(_properties(server.folder / "data", port, controller_port, front))
    await server.launch(
        *(*command, *extra, "-cp", class_path, "kafka.Kafka", str(settings)),
        environment=_environment(),
    )
    try:
        await server.answered(lambda: _listens(port))
    except StoreFailed as failure:
        raise _explained(failure, server, is_used=is_used) from failure
    client = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
    await server.answered(lambda: asyncio.to_thread(_knows_itself, client))
    return f"127.0.0.1:{port}"


def _explained(failure: StoreFailed, server: Server, *, is_used: bool) -> StoreFailed:
    """Explain what to do when the broker cannot read its own data."""
    cause = _CAUSE.search(server.output().decode(errors="replace"))
    if not is_used or cause is None or server.lacked_its_port:
        return failure
    return StoreFailed(
        f"Kafka cannot read its data in {server.folder / 'data'} ({cause[1].strip()}). A power"
        " loss or a copy made while it was running leaves it in this state; it cannot be repaired."
        " Start on another home (TASKMILL_HOME), or delete this one and its tasks with `make"
        f" clean`. See {server.log} for details."
    )


def _scratch(folder: Path) -> tuple[str, ...]:
    """Return a folder for the native libraries that the broker unpacks, emptied at each start."""
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return (f"-Djava.io.tmpdir={scratch}",)


async def _format(server: Server, java: tuple[str, ...]) -> None:
    data = server.folder / "data"
    if data.exists():
        return
    unfinished = server.folder / "data.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    settings = server.folder / "format.properties"
    settings.write_text(_properties(unfinished, *free_ports(2)))
    tool = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(settings))
    await server.run(*java, *tool, environment=_environment())
    settings.unlink()
    unfinished.rename(data)


def _properties(data: Path, port: int, controller_port: int, front: int | None = None) -> str:
    settings = _SETTINGS | {
        "log.dirs": data,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{front or port}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
    }
    return "".join(f"{name}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: object) -> str:
    """Escape a value for Java properties: a home may be in the folder of a Jürgen."""
    text = str(value).replace("\\", "\\\\")
    return "".join(letter if letter.isascii() else f"\\u{ord(letter):04x}" for letter in text)


def _environment() -> dict[str, str]:
    """Keep JAVA_TOOL_OPTIONS, CLASSPATH and the like away from the broker."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def _knows_itself(client: AdminClient) -> bool:
    try:
        return len(client.list_topics(timeout=2).brokers) > 0
    except KafkaException:
        return False
