"""One running mapping: what arrives, what its function receives and what is done."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypeAlias

from taskmill_local.lambdas.answer import Answer, Failed, Failure
from taskmill_local.mappings.batching import Batching
from taskmill_local.mappings.client import FETCH_WAIT, ConsumerSettings, consumer_settings
from taskmill_local.mappings.event import Origin, Record, assemble
from taskmill_local.mappings.feed import Feed
from taskmill_local.mappings.limits import Limits
from taskmill_local.mappings.partition_queue import PartitionQueue
from taskmill_local.mappings.snapshot import MappingSnapshot
from taskmill_local.mappings.verdict import Verdict, verdict_on
from taskmill_local.plan import MappingPlan

Invoke: TypeAlias = Callable[[str, bytes], Awaitable[Answer]]
Report: TypeAlias = Callable[[str], None]
Batch: TypeAlias = Mapping[PartitionQueue, Sequence[Record]]


class RunningMapping:
    """Lives on the event loop; its feed's thread delivers records and performs commits."""

    def __init__(  # noqa: PLR0913 - its dependencies, all named
        self,
        plan: MappingPlan,
        *,
        brokers: str,
        invoke: Invoke,
        limits: Limits,
        report: Report,
        settings: ConsumerSettings = consumer_settings,
    ) -> None:
        self._plan = plan
        self._origin = Origin(brokers, plan.cluster)
        self._invoke = invoke
        self._limits = limits
        self._report = report
        self._batching = Batching(
            count=plan.batch_size,
            event_bytes=limits.event_bytes,
            window=max(plan.window - FETCH_WAIT, timedelta()),
            origin=self._origin,
        )
        self._partition_queues: dict[int, PartitionQueue] = {}
        self._running: dict[asyncio.Task[None], Batch] = {}
        self._loop = asyncio.get_running_loop()
        self._feed = Feed(
            plan,
            brokers=brokers,
            inbox=self,
            patience=limits.revoke_patience,
            settings=settings,
        )
        self._alarm: asyncio.TimerHandle | None = None
        self._next_commit: asyncio.TimerHandle | None = None
        self._is_stopping = False
        self._turns = 0
        self._launched_at = 0.0
        self._batches = self._records = self._failures = 0
        self._last_error: str | None = None

    def start(self) -> None:
        self._feed.start()

    async def stop(self, grace: timedelta) -> None:
        """Give batches in flight their grace, commit what is done, leave the group."""
        self._is_stopping = True
        if self._running:
            await asyncio.wait(self._running, timeout=grace.total_seconds())
        late = list(self._running)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for timer in (self._alarm, self._next_commit):
            if timer:
                timer.cancel()
        await self._feed.close(_uncommitted(self._partition_queues.values()))

    def snapshot(self) -> MappingSnapshot:
        now = self._loop.time()
        return MappingSnapshot(
            function=self._plan.function,
            topic=self._plan.topic,
            lag=dict(self._lags()),
            waiting=sum(
                len(partition_queue.waiting) for partition_queue in self._partition_queues.values()
            ),
            in_flight=len(self._running),
            batches=self._batches,
            records=self._records,
            failures=self._failures,
            last_error=self._last_error,
            backing_off={
                partition: timedelta(seconds=max(0.0, partition_queue.again_at - now))
                for partition, partition_queue in self._partition_queues.items()
                if partition_queue.failures
            },
        )

    def arrived(self, records: Mapping[int, list[Record]]) -> None:
        now = self._loop.time()
        for partition, news in records.items():
            partition_queue = self._partition_queues.get(partition)
            if partition_queue is None or partition_queue.is_leaving:
                continue  # the partition went to another consumer meanwhile, and these with it
            partition_queue.append(news, now=now)
            if not partition_queue.is_paused and partition_queue.is_full(self._limits):
                partition_queue.is_paused = True
                self._feed.pause(partition)
        self._pump()

    def assigned(self, committed: Mapping[int, int | None]) -> None:
        for partition, offset in committed.items():
            name = f"{self._plan.topic}-{partition}"
            self._partition_queues[partition] = PartitionQueue(
                partition, name=name, committed=offset
            )

    async def released(self, partitions: Iterable[int]) -> Mapping[int, int]:
        leaving = [
            self._partition_queues[partition]
            for partition in partitions
            if partition in self._partition_queues
        ]
        for partition_queue in leaving:
            partition_queue.is_leaving = True
        if tasks := [task for task, batch in self._running.items() if batch.keys() & {*leaving}]:
            await asyncio.wait(tasks, timeout=self._limits.revoke_patience.total_seconds())
        offsets = _uncommitted(leaving)
        self.lost(partition_queue.partition for partition_queue in leaving)
        return offsets

    def lost(self, partitions: Iterable[int]) -> None:
        for partition in partitions:
            self._partition_queues.pop(partition, None)

    def committed(self, offsets: Mapping[int, int | None]) -> None:
        for partition, offset in offsets.items():
            if partition_queue := self._partition_queues.get(partition):
                if offset is None:
                    partition_queue.requested = None
                    self._commit_later()
                else:
                    partition_queue.committed = offset

    def troubled(self, sentence: str) -> None:
        self._last_error = sentence
        self._report(sentence)

    def _pump(self) -> None:
        """Start as many batches as allowed, and set a timer for the next one."""
        now = self._loop.time()
        while not self._is_stopping and len(self._running) < self._plan.most_in_flight:
            partition_queues = self._batching.choose(
                self._partition_queues.values(), now=now, gather_until=self._gather_until()
            )
            if not partition_queues:
                self._set_alarm()
                return
            self._launch(self._batching.collect(partition_queues, now=now))

    def _launch(self, batch: Batch) -> None:
        self._turns += 1
        self._launched_at = self._loop.time()
        for partition_queue in batch:
            partition_queue.is_in_flight = True
            partition_queue.turn = self._turns
        task = self._loop.create_task(self._deliver(batch))
        self._running[task] = batch
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        for partition_queue in self._running.pop(task):
            partition_queue.is_in_flight = False
            if partition_queue.is_paused and partition_queue.is_half_empty(self._limits):
                partition_queue.is_paused = False
                self._feed.resume(partition_queue.partition)
        self._pump()

    def _gather_until(self) -> float:
        """Return when a second batch may start while one is in flight.

        A function that responds within that time gets everything that arrived meanwhile at once:
        under load that means fewer invocations, and a slow batch delays no other for longer.
        """
        return self._launched_at + self._limits.gather.total_seconds() if self._running else 0.0

    def _set_alarm(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        due = self._batching.look_again_at(
            self._partition_queues.values(), gather_until=self._gather_until()
        )
        self._alarm = None if due is None else self._loop.call_at(due, self._pump)

    async def _deliver(self, batch: Batch) -> None:
        event = assemble(
            self._origin,
            {partition_queue.name: records for partition_queue, records in batch.items()},
        )
        try:
            answer = await self._invoke(self._plan.function, event)
        except Exception as error:  # noqa: BLE001 - a batch that cannot be delivered has failed
            reason = json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)})
            answer = Failed(Failure.HANDLER_ERROR, reason.encode())
        if isinstance(answer, Failed) and answer.failure is Failure.STOPPING:
            self._is_stopping = True
        else:
            self._settle(batch, answer)

    def _settle(self, batch: Batch, answer: Answer) -> None:
        verdict = verdict_on(
            {partition_queue.name: records for partition_queue, records in batch.items()}, answer
        )
        self._batches += 1
        for partition_queue, records in batch.items():
            if self._partition_queues.get(partition_queue.partition) is not partition_queue:
                continue  # the partition went to another consumer, which has these records now
            self._records += len(records)
            if partition_queue.name in verdict.again_from:
                again_from = verdict.again_from[partition_queue.name]
                now = self._loop.time()
                self._records -= partition_queue.fail(
                    records, again_from=again_from, now=now, limits=self._limits
                )
            else:
                partition_queue.succeed(records)
        if verdict.reason:
            self._failures += 1
            self._last_error = (
                f"{self._plan.function} failed on {_places(verdict)}: {verdict.reason}"
            )
        self._commit_later()

    def _commit_later(self) -> None:
        if self._next_commit is None and not self._is_stopping:
            delay = self._limits.commit_every.total_seconds()
            self._next_commit = self._loop.call_later(delay, self._commit)

    def _commit(self) -> None:
        self._next_commit = None
        offsets: dict[int, int] = {}
        for partition_queue in self._partition_queues.values():
            if (
                partition_queue.done is not None
                and partition_queue.done != partition_queue.requested
                and not partition_queue.is_leaving
            ):
                partition_queue.requested = offsets[partition_queue.partition] = (
                    partition_queue.done
                )
        if offsets:
            self._feed.commit(offsets)

    def _lags(self) -> Iterator[tuple[int, int]]:
        for partition, partition_queue in sorted(self._partition_queues.items()):
            if bounds := self._feed.bounds(partition):
                first, end = bounds
                yield (
                    partition,
                    max(
                        0,
                        end
                        - (
                            first
                            if partition_queue.committed is None
                            else partition_queue.committed
                        ),
                    ),
                )


def _uncommitted(partition_queues: Iterable[PartitionQueue]) -> dict[int, int]:
    return {
        partition_queue.partition: partition_queue.done
        for partition_queue in partition_queues
        if partition_queue.done is not None and partition_queue.done != partition_queue.committed
    }


def _places(verdict: Verdict) -> str:
    return ", ".join(f"{name} from offset {offset}" for name, offset in verdict.again_from.items())
