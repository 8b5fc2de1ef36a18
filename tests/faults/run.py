"""A workload and its history: careful clients submit, and everything observed is kept."""

import json
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.client import HTTPException
from itertools import count
from threading import Lock
from uuid import uuid4

from confluent_kafka import Producer
from msgspec import Raw
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.lifetimes import Lifetimes
from taskmill.core.task import TaskType, keyed_id
from taskmill.core.view import TaskView
from taskmill.stores.redis.session import Session
from taskmill.stores.redis.submission import RedisAdmission
from taskmill.submission.admission import Created
from taskmill_local.settings import SHARDS
from tests.builders import a_request
from tests.faults.checker import check
from tests.faults.history import Effect, History, Outcome, Redrive, Submit, TaskVersion, Told
from tests.waiting import eventually

TYPE = "probe"
SEED = "FAULTS_SEED"
"""Names a seed that each test takes instead of one that it draws."""

_FACTS = """
SELECT
    task_id::text, kind, generation, turn, round(extract(EPOCH FROM at) * 1000)::bigint,
    coalesce((body ->> 'token')::bigint, 0), coalesce((body ->> 'attempt')::int, 1),
    coalesce((body ->> 'losses')::int, 0), (body ->> 'started_at_ms')::bigint,
    (body ->> 'due_at_ms')::bigint, body ->> 'reason'
FROM facts WHERE task_id = ANY(%s::uuid[])
"""
_ROWS = """
SELECT
    id::text, coalesce(metadata ->> 'label', '?'), status, generation, turn, attempt, losses,
    coalesce(max_attempts, 0), reason, round(extract(EPOCH FROM finished_at) * 1000)::bigint
FROM tasks WHERE metadata @> jsonb_build_object('run', %s::text) AND metadata <> '{}'::jsonb
"""
_STANDINGS = """
SELECT count(*), count(*) FILTER (WHERE status NOT IN ('succeeded', 'dead', 'cancelled'))
FROM tasks WHERE metadata @> jsonb_build_object('run', %s::text) AND metadata <> '{}'::jsonb
"""
_runs = count(1)


def now_ms():
    return time.time_ns() // 1_000_000


@dataclass
class Run:
    """The tasks of one test, all marked with its name."""

    stack: object
    name: str = ""
    submits: list = field(default_factory=list)
    ids: dict = field(default_factory=dict)
    redrives: list = field(default_factory=list)
    expected_dead: set = field(default_factory=set)
    patience: float = 120

    def __post_init__(self):
        self.name = f"run{next(_runs)}-{uuid4().hex[:8]}"
        self._lock = Lock()

    def label(self, number):
        return f"{self.name}-{number}"

    def request(self, number, *, fields=None, **payload):
        label = self.label(number)
        return {
            "type": TYPE,
            "payload": {"name": label, **payload},
            "idempotency_key": label,
            "metadata": {"run": self.name, "label": label},
            **(fields or {}),
        }

    def submit(self, requests, client=None):
        """Submit a batch, and repeat it under the same keys until each task is accepted."""
        waiting = list(requests)
        deadline = time.monotonic() + self.patience
        while waiting:
            assert time.monotonic() < deadline, f"{len(waiting)} requests were never taken"
            taken = self.offer(waiting, client)
            waiting = [one for one in waiting if one["idempotency_key"] not in taken]

    def offer(self, requests, client=None):
        """Submit a batch once; return the labels of the accepted tasks."""
        invoked = now_ms()
        try:
            answer = (client or self.stack.client).post("/v1/tasks/batch", {"tasks": requests})
            results = answer.body["results"] if answer.status == 200 else None
        except (OSError, HTTPException):
            results = None
        span = {"invoked_ms": invoked, "returned_ms": now_ms()}
        if results is None:
            reply = [self._submit(one, Outcome.UNKNOWN, None, span) for one in requests]
        else:
            reply = [
                self._submit(requests[result["index"]], _outcome(result), result, span)
                for result in results
            ]
        with self._lock:
            self.submits += reply
            taken = [one for one in reply if one.outcome is Outcome.OK]
            self.ids.update({one.label: one.id for one in taken})
        if len(taken) < len(requests):
            time.sleep(0.05)  # a careful caller does not hammer at a door that is closed
        return {one.label for one in taken}

    def ask(self, request):
        """Submit one request once; return the response, None when there was none."""
        invoked = now_ms()
        try:
            answer = self.stack.client.post("/v1/tasks", request)
        except (OSError, HTTPException):
            answer = None
        span = {"invoked_ms": invoked, "returned_ms": now_ms()}
        status = answer.status if answer else 503
        result = {"status": status, "task": answer.body if answer else None}
        reply = self._submit(
            request,
            _outcome(result),
            result if answer else None,
            span,
            has_retry_after=bool(answer and "retry-after" in answer.headers),
        )
        with self._lock:
            self.submits.append(reply)
            if reply.outcome is Outcome.OK:
                self.ids[reply.label] = reply.id
        return answer

    def insist(self, request):
        """Submit one request until it has a final answer, and return it."""
        deadline = time.monotonic() + self.patience
        while (answer := self.ask(request)) is None or answer.status in {429, 503}:
            assert time.monotonic() < deadline, f"{request} was never answered"
            time.sleep(0.05)  # as careful as a client with a batch
        return answer

    def _submit(self, request, outcome, result, span, *, has_retry_after=True):
        """Record the result of a request; results of a batch have no Retry-After of their own."""
        label = request["idempotency_key"]
        return Submit(
            label=label,
            body=str(request["payload"]),
            key=label,
            outcome=outcome,
            id=result["task"]["id"] if outcome is Outcome.OK else None,
            run_at_ms=_run_at_ms(result["task"]) if outcome is Outcome.OK else None,
            http=result["status"] if result else None,
            has_retry_after=has_retry_after,
            **span,
        )

    def submit_many(self, requests, *, batch=50, callers=4, seconds=0.0, door=None):
        """Submit in batches from several clients, spread over some time."""
        requests = list(requests)
        batches = [requests[at : at + batch] for at in range(0, len(requests), batch)]
        began, step = time.monotonic(), seconds / max(len(batches), 1)

        def send(number, one):
            time.sleep(max(0.0, began + number * step - time.monotonic()))  # the load's own pace
            (door or self.submit)(one)

        with ThreadPoolExecutor(callers) as pool:
            for sent in [pool.submit(send, number, one) for number, one in enumerate(batches)]:
                sent.result()

    def leave_in_inbox(self, requests, *, apart=False):
        """Write requests as Kafka producers do, spread over the partitions.

        With *apart*, each is in the log before the next is written: then they arrive in many
        batches.
        """
        brokers = self.stack.client.platform()["stores"]["Kafka"]["address"]
        producer = Producer({"bootstrap.servers": brokers, "acks": "all", "log_level": 0})
        for one in requests:
            producer.produce(topics.INBOX, json.dumps(one).encode(), one["metadata"]["label"])
            if apart:
                producer.flush(self.patience)
        assert producer.flush(self.patience) == 0

    def entrust(self, requests):
        """Write requests with keys to the inbox: Kafka has them, so there will be tasks."""
        self.leave_in_inbox(requests)
        reply = [
            Submit(
                label=one["idempotency_key"],
                body=str(one["payload"]),
                key=one["idempotency_key"],
                id=keyed_id("default", TaskType(one["type"]), one["idempotency_key"]),
            )
            for one in requests
        ]
        with self._lock:
            self.submits += reply
            self.ids.update({one.label: one.id for one in reply})

    def await_rows(self, count, within=120):
        """Wait until the ledger has that many tasks, and count them as submitted."""
        eventually(lambda: len(self.rows()) >= count, within=within, reason="all have a row")
        for row in self.rows():
            self.ids[row.label] = row.id
            self.submits.append(Submit(label=row.label, body=row.label, key=row.label, id=row.id))

    def refused(self):
        """Return how many submits have been refused so far."""
        return sum(submit.outcome is not Outcome.OK for submit in self.submits)

    def order(self, verb, task_id):
        """Cancel or redrive a task, and repeat until there is an answer."""
        deadline = time.monotonic() + self.patience
        while True:
            assert time.monotonic() < deadline, f"{verb} of {task_id} was never answered"
            try:
                answer = self.stack.client.post(f"/v1/tasks/{task_id}/{verb}", {})
            except (OSError, HTTPException):
                answer = None
            if answer is not None and answer.status < 300:
                break
            time.sleep(0.05)  # as careful as a client
        if verb == "redrive":
            self.redrives.append(Redrive(id=task_id))

    def change(self, task_id, **wanted):
        """Change a waiting task, and repeat until there is an answer.

        If the first answer was lost, the next may be that the task no longer waits.
        """
        body, deadline = json.dumps(wanted).encode(), time.monotonic() + self.patience
        while True:
            assert time.monotonic() < deadline, f"the change of {task_id} was never answered"
            with suppress(OSError, HTTPException):
                answer = self.stack.client.ask("PATCH", f"/v1/tasks/{task_id}", body)
                if answer.status in {200, 409}:
                    return
            time.sleep(0.05)  # as careful as a client

    def owe(self, numbers, *, each, apart=timedelta(milliseconds=50), first=timedelta(), **changes):
        """Admit tasks as a gateway does that dies before it publishes: some are due later.

        Return when each is due, by its label.
        """
        numbers, due = list(numbers), {}
        for at in range(0, len(numbers), each):
            hold = first + apart * (at // each)
            for task in self.admit(numbers[at : at + each], hold=hold, fields=changes):
                due[task.metadata["label"]] = now_ms() + hold / timedelta(milliseconds=1)
        return due

    def admit(self, numbers, *, hold, fields=None, **payload):
        """Admit tasks that nobody publishes before *hold* is over."""
        asked = [self._envelope(number, payload, fields or {}) for number in numbers]
        session = Session(self.stack.ground.own_redis_url)
        try:
            verdicts = RedisAdmission(session, shards=SHARDS, lifetimes=Lifetimes(hold=hold)).admit(
                asked
            )
        finally:
            session.close()
        assert all(isinstance(verdict, Created) for verdict in verdicts)
        for one in asked:
            label = one.metadata["label"]
            self.ids[label] = one.id
            self.submits.append(Submit(label=label, body=label, key=label, id=one.id))
        return [
            replace(one, generation=verdict.generation)
            for one, verdict in zip(asked, verdicts, strict=True)
        ]

    def _envelope(self, number, payload, fields):
        label = self.label(number)
        usual = {
            "id": keyed_id("default", TaskType(TYPE), label),
            "type": TaskType(TYPE),
            "payload": Raw(json.dumps({"name": label, **payload}).encode()),
            "metadata": {"run": self.name, "label": label},
        }
        return a_request(label, **usual | fields)

    def await_ends(self, within=120):
        """Wait until the ledger has each task and its end."""
        try:
            eventually(self._has_ended, within=within, reason=f"{self.name} has ended")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self._whereabouts()}") from late

    def _whereabouts(self):
        """Describe the state of the tasks, and all about a few that have not ended."""
        rows = {row.label: row for row in self.rows()}
        reply = [f"{Counter(row.status for row in rows.values())}, lag {self.stack.lag()}"]
        still_open = [
            label
            for label in self.ids
            if label not in rows or rows[label].status not in {"succeeded", "dead", "cancelled"}
        ]
        for label in still_open[:5]:
            (record,) = self.stack.records([self.ids[label]])
            facts = [row for row in self.facts() if row[0] == self.ids[label]]
            reply += [f"{label}: {rows.get(label)}", f"  Redis: {record}", f"  {facts}"]
        return "\n".join(reply)

    def _has_ended(self):
        ((known, still_open),) = self.stack.ask(_STANDINGS, self.name)
        return known >= len(self.ids) and not still_open

    def rows(self):
        return [
            TaskVersion(
                **dict(
                    zip(
                        (
                            "id",
                            "label",
                            "status",
                            "generation",
                            "turn",
                            "attempt",
                            "losses",
                            "max_attempts",
                            "reason",
                            "finished_at_ms",
                        ),
                        row,
                        strict=True,
                    )
                )
            )
            for row in self.stack.ask(_ROWS, self.name)
        ]

    def history(self, **about):
        """Return what happened, as seen from all sides."""
        rows = self.rows()
        return History(
            submits=self.submits,
            redrives=self.redrives,
            effects=[*self._owned(), *self._outside()],
            facts=[_told(row) for row in self.facts()],
            rows=rows,
            records=self._records([row.id for row in rows]),
            expected_dead=frozenset(self.expected_dead),
            **about,
        )

    def facts(self):
        ids = {*self.ids.values(), *(row.id for row in self.rows())}
        return sorted(self.stack.ask(_FACTS, sorted(ids)), key=str)

    def _owned(self):
        query = "SELECT label, generation FROM receipts WHERE label LIKE %s"
        kept = self.stack.ask(query, f"{self.name}-%")
        return [Effect(label=name, generation=lived, is_owned=True) for name, lived in kept]

    def _outside(self):
        """Read the effects of every submission: one with an unknown result may have run as well."""
        lines = self.stack.left({*self.ids, *(submit.label for submit in self.submits)})
        return [
            Effect(
                label=line["label"],
                generation=line["generation"],
                is_owned=False,
                token=line["token"],
            )
            for line in lines
            if line["kind"] == "effect"
        ]

    def _records(self, ids):
        """Read what Redis still has; an expired record is no difference."""
        found = {}
        for at in range(0, len(ids), 1000):
            some = ids[at : at + 1000]
            for task_id, record in zip(some, self.stack.records(some), strict=True):
                if isinstance(record, TaskView):
                    found[task_id] = (record.generation, str(record.status))
        return found

    def verify(self, **about):
        """Check every invariant; return the history for figures."""
        self._come_to_rest()
        history = self.history(**about)
        complaints = _told_of(check(history))
        assert complaints == [], complaints
        return history

    def to_be_mended(self):
        """Return a line for each task that the reconciler would repair."""
        return self.stack.examine(self.ids.values())

    def _come_to_rest(self):
        """Wait until the ledger has read everything, and every row is complete."""
        self.stack.come_to_rest()
        with suppress(AssertionError):  # what is missing for good is for the checker to say
            eventually(lambda: len(self.rows()) >= len(self.ids), within=5, reason="rows are whole")

    def complaints(self, **about):
        """Return the violations of each invariant as sentences, at most the first twenty."""
        self._come_to_rest()
        return _told_of(check(self.history(**about)))


def _told_of(complaints):
    more = len(complaints) - 20
    return [*map(str, complaints[:20]), *([f"and {more} more"] if more > 0 else [])]


def _run_at_ms(task):
    at = task.get("run_at")
    return at and round(datetime.fromisoformat(at).timestamp() * 1000)


def _outcome(result):
    if result["status"] < 300:
        return Outcome.OK
    return Outcome.UNKNOWN if result["status"] in {429, 503} else Outcome.FAIL


def _told(row):
    names = (
        "id",
        "kind",
        "generation",
        "turn",
        "at_ms",
        "token",
        "attempt",
        "losses",
        "started_at_ms",
        "due_at_ms",
        "reason",
    )
    return Told(**dict(zip(names, row, strict=True)))


def starts(stack, labels):
    """Return how often each of these tasks was started."""
    begun = {}
    for line in stack.left(labels):
        if line["kind"] == "start":
            begun[line["label"]] = begun.get(line["label"], 0) + 1
    return begun


def last_end_ms(history):
    return max((row.finished_at_ms or 0 for row in history.rows), default=0)


def a_seed():
    """Return a new seed, or the configured one, and print it."""
    named = os.environ.get(SEED)
    seed = random.SystemRandom().randrange(1_000_000) if named is None else int(named)
    print(f"seed {seed}", flush=True)  # noqa: T201 - a test that fails shows it
    return seed
