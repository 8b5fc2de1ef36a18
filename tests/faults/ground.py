"""Kafka, Valkey and PostgreSQL, each behind a proxy: tests stop and start them separately."""

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta

import psutil

from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.java import find_java
from taskmill_local.stores.kafka import start_kafka
from taskmill_local.stores.postgres import start_postgres
from taskmill_local.stores.server import Server
from taskmill_local.stores.valkey import start_valkey
from tests.faults.proxy import Proxy

GRACE = timedelta(seconds=5)


class Ground:
    """The stores of one home. A proxy keeps its port while its store may return on another."""

    def __init__(self, home, runner):
        prepare_home(home)
        self._runner = runner
        self.servers = {name: Server(name, home) for name in ("Kafka", "Valkey", "PostgreSQL")}
        self.proxies = {name: Proxy() for name in self.servers}
        self._starts = {
            "Kafka": self._start_kafka,
            "Valkey": self._start_valkey,
            "PostgreSQL": self._start_postgres,
        }

    def start(self):
        for proxy in self.proxies.values():
            proxy.start()
        self.revive(*self.servers)
        return self

    def stop(self):
        for name, proxy in self.proxies.items():
            proxy.stop()
            self.end(name, signal.SIGKILL)

    def revive(self, *names):
        """Start stores in parallel, each on the data it left."""

        async def revive_all():
            async with asyncio.TaskGroup() as starts:
                for name in names:
                    starts.create_task(self._revived(name))

        self._runner.run(revive_all())

    def end(self, name, number):
        """Signal a store, and wait until it has ended."""
        server = self.servers[name]
        pid_file = server.folder.with_name(f"{name.lower()}.pid")
        with suppress(psutil.NoSuchProcess, FileNotFoundError):
            psutil.Process(int(pid_file.read_text().split()[0])).send_signal(number)
        self._runner.run(server.stop(GRACE))

    @property
    def settings(self):
        """The platform's settings: the addresses of the proxies."""
        owner, app = (self.dsn(role) for role in ("taskmill_owner", "taskmill_app"))
        return {
            "TASKMILL_KAFKA_BROKERS": f"127.0.0.1:{self.proxies['Kafka'].port}",
            "TASKMILL_REDIS_URL": f"redis://127.0.0.1:{self.proxies['Valkey'].port}/0",
            "TASKMILL_POSTGRES_DSN": app,
            "TASKMILL_POSTGRES_OWNER_DSN": owner,
        }

    def dsn(self, role="taskmill_owner", port=None):
        port = port or self.proxies["PostgreSQL"].port
        return f"postgresql://{role}@127.0.0.1:{port}/taskmill"

    @property
    def own_dsn(self):
        """The tests' direct address of the ledger, past the proxy."""
        return self.dsn(port=self.proxies["PostgreSQL"].upstream)

    @property
    def own_redis_url(self):
        return f"redis://127.0.0.1:{self.proxies['Valkey'].upstream}/0"

    async def _revived(self, name):
        self.proxies[name].upstream = await self._starts[name]()

    async def _start_kafka(self):
        front = self.proxies["Kafka"].port
        return _port(await start_kafka(self.servers["Kafka"], find_java(), front=front))

    async def _start_valkey(self):
        return _port((await start_valkey(self.servers["Valkey"])).removesuffix("/0"))

    async def _start_postgres(self):
        dsns = await start_postgres(self.servers["PostgreSQL"], durable=False)
        return _port(dsns.app.rpartition("/")[0])


def _port(address):
    return int(address.rpartition(":")[2])
