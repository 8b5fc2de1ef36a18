"""Prepares started stores for tasks: topics, the ledger's schema, markers of shards and lanes."""

import asyncio
import json
import resource
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import psycopg
import yaml
from confluent_kafka import KafkaException

from taskmill.core.errors import StoreUnavailable
from taskmill.core.task import TaskType
from taskmill.core.topics import worker
from taskmill.stores.postgres.migrate import migrate
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.shards import open_lanes, open_shards
from taskmill_local.background_thread import in_background_thread
from taskmill_local.declared import declare_all
from taskmill_local.errors import StoreFailed
from taskmill_local.settings import SHARDS, Settings
from taskmill_local.stores.start import Addresses
from taskmill_local.stores.topics import TopicPlan, create_topics

_MOST_FILES: Final = 65_536


async def prepare(settings: Settings, addresses: Addresses) -> None:
    async with asyncio.TaskGroup() as steps:
        topics = topic_plans(settings.root, processes=settings.concurrency)
        steps.create_task(in_background_thread(make_topics, addresses.kafka_brokers, topics))
        steps.create_task(
            in_background_thread(prepare_ledger, addresses.postgres_owner_dsn, settings.root)
        )
        types, checksum = deployed_types(settings.root), addresses.redis_checksum
        steps.create_task(
            in_background_thread(open_or_leave, addresses.redis_url, types, checksum=checksum)
        )


def make_topics(brokers: str, topics: Mapping[str, TopicPlan]) -> None:
    try:
        create_topics(brokers, topics)
    except StoreFailed as failure:
        if not isinstance(failure.__cause__, KafkaException):
            raise
        why = _clause(failure.__cause__.args[0].str())
        raise StoreFailed(
            f"The topics cannot be created in Kafka at {brokers}: {why}. "
            "Is it running, and is TASKMILL_KAFKA_BROKERS right?"
        ) from failure


def raise_file_limit() -> None:
    """Raise the limit of open files to the system's maximum: each connection needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def topic_plans(root: Path, *, processes: int) -> dict[str, TopicPlan]:
    """Return the topics that the project needs; each type of the catalogue has its own.

    A partition keeps one process of its type busy, so more than there may be would be of no use.
    """
    document = yaml.safe_load((root / "infra" / "kafka" / "topics.yaml").read_text())
    topics = document["topics"] | {
        worker(TaskType(entry["name"])): {
            # A project of a version before 0.2.0 names none.
            "partitions": min(entry.get("partitions", processes), processes)
        }
        for entry in _catalogue(root)
    }
    return {name: _topic_plan(document["defaults"], own) for name, own in topics.items()}


def deployed_types(root: Path) -> list[TaskType]:
    return [TaskType(entry["name"]) for entry in _catalogue(root)]


def _catalogue(root: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(
        (root / "shared" / "taskmill" / "catalogue.json").read_text()
    )
    return entries


def _topic_plan(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> TopicPlan:
    configs = dict(defaults) | {name: value for name, value in own.items() if name != "partitions"}
    return TopicPlan(
        partitions=own["partitions"],
        configs={name: str(value) for name, value in configs.items()},
    )


def prepare_ledger(owner_dsn: str, root: Path) -> None:
    bring_up_to_date(owner_dsn, root / "infra" / "postgres" / "migrations")
    declare_all(owner_dsn, root)


def bring_up_to_date(owner_dsn: str, migrations: Path) -> list[str]:
    try:
        return migrate(owner_dsn, migrations)
    except psycopg.Error as error:
        raise StoreFailed(
            f"The ledger's schema cannot be brought up to date: {_clause(str(error))}. "
            "Is the server running, is the DSN right, and does its role own the database?"
        ) from error


def open_or_leave(url: str, types: Collection[TaskType], *, checksum: str | None) -> None:
    """Reopen what was open when the server was stopped, if its data is intact.

    The scheduler rebuilds shards and lanes of a foreign server, or of one that crashed or lost the
    end of its file: it trusts nothing that may have been lost.
    """
    session = Session(url)
    try:
        session.run_id()
        if checksum is not None:
            open_shards(session, SHARDS, since=checksum)
            open_lanes(session, types, since=checksum)
    except StoreUnavailable as error:
        raise StoreFailed(
            f"Redis does not answer: {_clause(error.why)}. Is TASKMILL_REDIS_URL right?"
        ) from error
    finally:
        session.close()


def _clause(text: str) -> str:
    """Return the first line of a client's error message, for use within a sentence."""
    return next(iter(text.splitlines()), "no reason was given").strip().rstrip(".")
