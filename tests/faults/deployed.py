"""The in-memory system with the deployed handlers and jobs as its functions."""

import logging
from contextlib import contextmanager

from functions.dispatcher.handler import lambda_handler as dispatcher
from functions.recorder.handler import lambda_handler as recorder
from taskmill.core import topics
from taskmill.core.log import Position
from taskmill.execution.ports import Deaf
from taskmill.platform import process
from taskmill.stores.memory.process import InlineBackgroundJobs
from taskmill.testing.executor import PatientExecutor
from taskmill.testing.system import INVOCATION, System
from tests.unit.stage import Context, a_kafka_event, do_job

TICK = (
    *("watch_lanes", "publish_due", "relay_outbox"),
    *("bring_near", "expire", "refill", "forget_expired"),
)
"""The jobs of one tick of the system, in order."""


class Deployed(System):
    """Runs each invocation as its own process; invocations may be nested."""

    def __init__(self, workers, **how):
        super().__init__(workers, **how)
        self.functions = {topics.worker_of(name): one for name, one in workers.items()}
        self.functions |= dict.fromkeys(topics.RECORDERS, recorder)
        self.functions[topics.DISPATCHER] = dispatcher
        self._provided = {
            "stores": lambda _name, **_how: self.stores,
            "executor": lambda: PatientExecutor(self.clock),
            "loop_executor": lambda: PatientExecutor(self.clock),
            "background_jobs": InlineBackgroundJobs,
            "rhythm": lambda _watched_at: None,
            "clock": self.clock,
            "chance": self.chance.random,
            "entropy": lambda: self.chance.randbytes(16),
            "nonce": self.new_process,
            "pause": self.clock.move,
            "log": lambda _service: logging.getLogger("taskmill"),
            "counters": lambda: self.stores.counters,
            "bell": lambda _stores, _executor: Deaf(),
        }

    def invoke(self, reader, records):
        with self._process():
            answer = self.call(self.functions[reader], a_kafka_event(records))
        return {_position(one["itemIdentifier"]) for one in answer["batchItemFailures"]}

    def call(self, function, event):
        return function(event, Context(self.clock, lives=INVOCATION))

    def tick(self):
        with self._process():
            return sum([do_job(name) for name in TICK])

    def rebuild(self, *, pause=None):
        with self._process(pause=pause or self.write_meanwhile):
            restored = do_job("rebuild")
            do_job("rebuild_lanes")
            return restored

    @contextmanager
    def _process(self, **others):
        """Provide the services of a process, then restore those of the enclosing process."""
        around = dict(process.PROVIDED)
        process.PROVIDED.update(self._provided | others)
        try:
            yield
        finally:
            process.PROVIDED.clear()
            process.PROVIDED.update(around)


def _position(item):
    topic, _, partition = item["partition"].rpartition("-")
    return Position(topic, int(partition), item["offset"])
