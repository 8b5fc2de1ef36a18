"""The whole platform: stores, functions, mappings, rules and the front, started in order."""

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from logging.handlers import RotatingFileHandler
from typing import Any, Final

from taskmill.core import topics
from taskmill_local.assembled import check_assembled
from taskmill_local.background_thread import in_background_thread
from taskmill_local.bucket import Bucket
from taskmill_local.front.guard import local_only
from taskmill_local.front.server import Front
from taskmill_local.lambdas.answer import Answer, stopping
from taskmill_local.lambdas.functions import Functions
from taskmill_local.mail_sink import MailSink
from taskmill_local.mappings.mappings import Mappings
from taskmill_local.metrics.exposition import CONTENT_TYPE
from taskmill_local.metrics.meter import Meter
from taskmill_local.metrics.page import metrics_page
from taskmill_local.plan import Plan, fitted
from taskmill_local.preparation import prepare, raise_file_limit
from taskmill_local.reload import Reload
from taskmill_local.rules import Rules
from taskmill_local.settings import GATEWAY, SCHEDULER, SHARDS, TEMPLATE, Settings
from taskmill_local.status_count import StatusCount
from taskmill_local.stores.ports import free_ports, kept_ports, the_fixed_port
from taskmill_local.stores.start import Addresses, Report, Stores
from taskmill_local.template.read import read_plan
from taskmill_local.view import View, settings_view, store_views

PAGE: Final = "/platform"
METRICS: Final = "/metrics"
MAIL: Final = "/mail"
_MAIL_FROM: Final = "taskmill <taskmill@local.example>"
_NOWHERE: Final = Addresses(
    kafka_brokers="-", redis_url="-", postgres_owner_dsn="-", postgres_app_dsn="-"
)
_FRONT_GRACE: Final = timedelta(seconds=0.5)
_BATCH_GRACE: Final = timedelta(seconds=1.5)  # a worker lets its tasks run for one second
_FUNCTION_GRACE: Final = timedelta(seconds=0.3)
_STORE_GRACE: Final = timedelta(seconds=2)
_NO_GRACE: Final = timedelta()  # the scheduler's runs never end by themselves in time
_GLANCE_SECONDS: Final = 0.2
_LARGEST_LOG_BYTES: Final = 2**20


class Platform:
    """Call `start` once, await `broken` alongside other work, and `stop` in every case."""

    def __init__(self, settings: Settings, *, report: Report) -> None:
        self.settings = settings
        self.start_split: dict[str, float] = {}
        self._report = report
        self._stores = Stores(
            settings.home,
            external=settings.external,
            durable=settings.durable,
            ports=settings.ports,
        )
        self._log: logging.Handler | None = None
        self._functions: Functions | None = None
        self._mappings: Mappings | None = None
        self._rules: Rules | None = None
        self._front: Front | None = None
        self._reload: Reload | None = None
        self._view: View | None = None
        self._meter = Meter()
        self._mail_sink = MailSink()
        self._mail_server = ""
        self._bucket = Bucket(settings.home / "bucket")

    async def start(self) -> str:
        """Start everything and return the address of the API."""
        raise_file_limit()
        self._log_to_file()
        self._mail_server = await self._mail_sink.start()
        try:
            view = self._view = await self._start()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        return view.url

    async def stop(self) -> None:
        """Stop in reverse order in bounded time: interrupted work is repeated at the next start."""
        if self._reload is not None:
            await self._reload.stop()
        if self._front is not None:
            await self._front.stop(_FRONT_GRACE)
        if self._rules is not None:
            await self._rules.stop(_NO_GRACE)
        if self._functions is not None:
            await self._stop_functions(self._functions)
        await self._mail_sink.stop()
        await in_background_thread(self._bucket.stop)
        if self._view is not None:
            await in_background_thread(self._view.close)
        await self._stores.stop(_STORE_GRACE)
        if self._log is not None:
            logging.getLogger().removeHandler(self._log)
            self._log.close()

    async def _stop_functions(self, functions: Functions) -> None:
        if self._mappings is not None:
            functions.hand_back()
            await self._mappings.stop(_BATCH_GRACE)
        await functions.stop(_FUNCTION_GRACE)

    async def broken(self) -> str:
        """Return when a store has ended by itself, with a sentence about it."""
        while (sentence := self._stores.exited()) is None:  # noqa: ASYNC110 - the stores must be polled
            await asyncio.sleep(_GLANCE_SECONDS)
        return sentence

    async def snapshot(self) -> dict[str, Any]:
        if self._view is None:
            raise RuntimeError("A platform has a snapshot only after it has started.")
        return await self._view.snapshot()

    async def _start(self) -> View:
        with self._timed("stores"):
            addresses, caps = await self._open_ground()
        with self._timed("functions"):
            plan = await self._read(addresses, places=max(1, caps[GATEWAY] // 2))
            functions = self._functions = self._make_functions(plan, caps)
            async with asyncio.TaskGroup() as starts:
                starts.create_task(self._warm(functions))
                traffic = starts.create_task(self._open_traffic(plan, addresses, functions, caps))
                starts.create_task(self._watch_files(plan, functions))
        return View(
            url=await self._open_front(plan, functions),
            settings=self.settings,
            stores=store_views(addresses, self.settings),
            scheduler_settings=settings_view(plan.functions[SCHEDULER], self.settings),
            caps=caps,
            status_count=StatusCount(addresses.postgres_app_dsn),
            functions=functions,
            mappings=traffic.result(),
            start_split=self.start_split,
        )

    def _log_to_file(self) -> None:
        self._log = RotatingFileHandler(
            self.settings.home / "logs" / "platform.log",
            maxBytes=_LARGEST_LOG_BYTES,
            backupCount=1,
            delay=True,
        )
        self._log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logging.getLogger().addHandler(self._log)

    async def _open_ground(self) -> tuple[Addresses, dict[str, int]]:
        # Stores come first: a locked home explains a port that is taken.
        async with asyncio.TaskGroup() as starts:
            stores = starts.create_task(self._stores.start(self._report))
            starts.create_task(_check_port(self.settings.port))
            # Read once before the addresses are known, to complain early and to warm up.
            draft = starts.create_task(self._read(_NOWHERE, places=1))
            starts.create_task(self._check_assembled())
        return stores.result(), self.settings.caps(draft.result().functions)

    async def _check_assembled(self) -> None:
        if words := await in_background_thread(check_assembled, self.settings.root):
            self._report("Template", words)

    async def _read(self, addresses: Addresses, *, places: int) -> Plan:
        root = self.settings.root
        parameters = {
            "KafkaBrokers": addresses.kafka_brokers,
            "RedisUrl": addresses.redis_url,
            "PostgresDsn": addresses.postgres_app_dsn,
            "Shards": str(SHARDS),
            "WaitingPlaces": str(places),
        }
        mail = {
            "MailFrom": _MAIL_FROM,
            "SmtpServer": self._mail_server,
            "SmtpSecurity": "PLAINTEXT",
        }
        read = partial(read_plan, root / TEMPLATE, root=root)
        return await in_background_thread(partial(read, parameters=parameters, where_declared=mail))

    def _make_functions(self, plan: Plan, caps: dict[str, int]) -> Functions:
        root = self.settings.root
        self._meter = Meter({topics.type_of(mapping.topic) for mapping in plan.mappings})
        return Functions(
            plan.functions,
            logs=self.settings.home / "logs",
            python_path=(root, root / "shared"),
            extra_environment={
                **self.settings.for_functions,
                **self._bucket.start(self._bucket_port()),
            },
            concurrency_cap=caps,
            orders=self.settings.home / "orders",
            sift=self._meter.take,
        )

    def _bucket_port(self) -> int:
        fixed = the_fixed_port("TASKMILL_BUCKET_PORT", self.settings.ports.bucket)
        note = self.settings.home / "bucket.ports"
        (port,) = kept_ports(note, 1, draw=free_ports, fixed=fixed)
        return port

    async def _warm(self, functions: Functions) -> None:
        await functions.start(dict.fromkeys(functions.snapshot(), 1))
        for name, pool in functions.snapshot().items():
            if not pool.environments:
                log = self.settings.home / "logs" / f"{name}.log"
                self._report(name, f"does not start; its log says why: {log}")

    async def _open_traffic(
        self, plan: Plan, addresses: Addresses, functions: Functions, caps: Mapping[str, int]
    ) -> Mappings:
        await prepare(self.settings, addresses)
        mappings = self._mappings = Mappings(
            fitted(plan.mappings, caps),
            brokers=addresses.kafka_brokers,
            invoke=functions.invoke,
            limits=self.settings.limits,
        )
        self._rules = Rules(plan.rules, invoke=functions.invoke)
        await mappings.start()
        await self._rules.start()
        return mappings

    async def _watch_files(self, plan: Plan, functions: Functions) -> None:
        root = self.settings.root
        self._reload = Reload(plan.functions, functions, self._report, root=root)
        await self._reload.start()

    async def _open_front(self, plan: Plan, functions: Functions) -> str:
        self._front = Front(
            plan.routes,
            functions.invoke,
            extra={PAGE: self._page, METRICS: self._metrics, MAIL: self._mail_sink.page},
            guard=local_only,
        )
        return f"http://127.0.0.1:{await self._front.start(self.settings.port)}"

    async def _page(self) -> tuple[int, str, bytes]:
        return 200, "application/json", json.dumps(await self.snapshot()).encode()

    async def _metrics(self) -> tuple[int, str, bytes]:
        functions = {} if self._functions is None else self._functions.snapshot()
        mappings = {} if self._mappings is None else self._mappings.snapshot()
        return 200, CONTENT_TYPE, metrics_page(self._meter, functions, mappings)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.start_split[part] = round(time.monotonic() - began, 3)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def _check_port(port: int) -> None:
    """Check for a taken port now, not after everything else has started."""
    front = Front((), _refuse)
    await front.start(port)
    await front.stop(_NO_GRACE)


async def _refuse(_function: str, _event: bytes) -> Answer:
    return stopping()
