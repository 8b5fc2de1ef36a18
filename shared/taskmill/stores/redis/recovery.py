"""Rebuilding cold shards and repairing records, in Redis."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from taskmill.core import codec
from taskmill.core.lifetimes import UNKEYED_RECORD, USUAL, Lifetimes
from taskmill.core.task import TaskId, shard_of, shown
from taskmill.core.time import FAR_RECORD, in_ms
from taskmill.recovery.divergence import RepairAnswer, RepairOrder
from taskmill.recovery.restoration import HotView, Restoration
from taskmill.stores.redis import scripts
from taskmill.stores.redis.keys import EVERY_RECORD, ShardKeys, shard_keys
from taskmill.stores.redis.session import Argument, Call, Session

_IDS_AT_A_TIME = 1000
_TASKS_IN_A_CALL = 50
"""Few enough that a call delays nobody: a fast server handles them in a millisecond."""


class RedisColdShards:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._lease = in_ms(lifetimes.lease)
        self._window = in_ms(lifetimes.window)
        self._grace = in_ms(lifetimes.grace)
        self._nonce_stays = in_ms(lifetimes.nonce_stays)
        self._ask = scripts.load("recovery/ask_shard")
        self._begin = scripts.load("recovery/begin_rebuild")
        self._keep = scripts.load("recovery/keep_rebuild")
        self._restore = scripts.load("recovery/restore_records")
        self._open = scripts.load("recovery/open_shard")

    def shard_of(self, task_id: TaskId) -> int:
        return shard_of(task_id, self._shards)

    def are_some(self) -> bool:
        """Return whether any shard is cold."""
        every = [ShardKeys(shard, self._shards) for shard in range(self._shards)]
        return b"COLD" in self._session.call(self._ask, [([one.marker], []) for one in every])

    def begin(self, nonce: str) -> frozenset[int]:
        every = [ShardKeys(shard, self._shards) for shard in range(self._shards)]
        calls: list[Call] = [
            ([one.marker, one.rebuild], [nonce, self._nonce_stays]) for one in every
        ]
        answers = self._session.call(self._begin, calls)
        return frozenset(shard for shard, answer in enumerate(answers) if answer == b"BEGUN")

    def keep(self, nonce: str, shards: Collection[int]) -> frozenset[int]:
        return self._keep_for(self._nonce_stays, nonce, shards)

    def leave(self, nonce: str, shards: Collection[int]) -> None:
        self._keep_for(0, nonce, shards)

    def _keep_for(self, span: int, nonce: str, shards: Collection[int]) -> frozenset[int]:
        in_order = sorted(shards)
        keys = [ShardKeys(shard, self._shards) for shard in in_order]
        calls: list[Call] = [([one.rebuild], [nonce, span]) for one in keys]
        answers = self._session.call(self._keep, calls)
        return _those(in_order, answers, b"KEPT")

    def held(self, shards: Collection[int]) -> Iterator[Sequence[TaskId]]:
        """Yield the ids that the server still has, some of them twice."""
        prefixes = {ShardKeys(shard, self._shards).record(TaskId("")).encode() for shard in shards}
        cursor = b"0"
        while True:
            cursor, keys = self._session.command(
                "SCAN", cursor, "MATCH", EVERY_RECORD, "COUNT", _IDS_AT_A_TIME
            )
            ids = [_id_in(key) for key in keys if _prefix_of(key) in prefixes]
            if ids:
                yield ids
            if cursor == b"0":
                return

    def restore(self, nonce: str, tasks: Sequence[HotView]) -> Sequence[Restoration]:
        by_shard: dict[int, list[int]] = defaultdict(list)
        for number, view in enumerate(tasks):
            by_shard[self.shard_of(view.envelope.id)].append(number)
        groups = [
            (shard, numbers[start : start + _TASKS_IN_A_CALL])
            for shard, numbers in by_shard.items()
            for start in range(0, len(numbers), _TASKS_IN_A_CALL)
        ]
        calls = [self._call(nonce, shard, [tasks[one] for one in group]) for shard, group in groups]
        restorations: dict[int, Restoration] = {}
        for (_, group), answers in zip(
            groups, self._session.call(self._restore, calls), strict=True
        ):
            outcomes = [answers] * len(group) if answers == _START_AGAIN else answers
            restorations |= zip(group, map(_RESTORATIONS.__getitem__, outcomes), strict=True)
        return [restorations[number] for number in range(len(tasks))]

    def open(self, nonce: str, shards: Collection[int]) -> frozenset[int]:
        in_order = sorted(shards)
        keys = [ShardKeys(shard, self._shards) for shard in in_order]
        calls: list[Call] = [([one.rebuild, one.marker], [nonce]) for one in keys]
        return _those(in_order, self._session.call(self._open, calls), b"OPEN")

    def _call(self, nonce: str, shard: int, views: Sequence[HotView]) -> Call:
        keys = ShardKeys(shard, self._shards)
        arguments: list[Argument] = [nonce, self._lease, self._window, self._grace]
        arguments += [in_ms(UNKEYED_RECORD), in_ms(FAR_RECORD)]
        for view in views:
            arguments += _arguments(view)
        records = [keys.record(view.envelope.id) for view in views]
        return [keys.rebuild, keys.marker, keys.due, keys.owed, keys.lifetimes, *records], arguments


def _arguments(view: HotView) -> list[Argument]:
    row, task = view.row, view.envelope
    fields = _key_fields(view) if view.is_far else fields_of(view)
    return [
        task.id,
        task.generation,
        task.turn,
        row.status,
        row.largest_token,
        row.losses,
        "1" if row.cancel_requested else "",
        "" if view.due_at_ms is None else view.due_at_ms,
        "" if view.due_at_ms is None or view.is_far else codec.encode(view.owed),
        "1" if view.is_far else "",
        task.submitted or task.generation,
        "1" if task.idempotency_key else "",
        len(fields),
        *fields,
    ]


def _key_fields(view: HotView) -> list[Argument]:
    """Return what a key needs of a task that only the ledger keeps."""
    task = view.envelope
    return [
        *("submitted", task.submitted or task.generation),
        *("fingerprint", task.fingerprint),
        *("keyed", "1" if task.idempotency_key else ""),
    ]


def fields_of(view: HotView) -> list[Argument]:
    """Return the record's fields, each followed by its value."""
    row, task = view.row, view.envelope
    fields: list[Argument] = [
        *("submitted", task.submitted or task.generation),
        *("submission", task.submission),
        *("fingerprint", task.fingerprint),
        *("keyed", "1" if task.idempotency_key else ""),
        *("about", codec.encode(shown(task))),
        *("attempt", row.attempt),
    ]
    if row.started_at_ms is not None:
        fields += ["started_at", row.started_at_ms]
    if row.first_started_at_ms is not None:
        fields += ["first_started_at", row.first_started_at_ms]
    if view.waiting is not None:
        fields += ["waiting", codec.encode(view.waiting)]
    if view.ending is not None:
        result = b"" if row.result is None else bytes(row.result)
        fields += ["ending", codec.encode(view.ending), "result", result]
    return fields


_START_AGAIN = b"START AGAIN"
_RESTORATIONS = {
    b"RESTORED": Restoration.RESTORED,
    b"KEPT": Restoration.KEPT,
    _START_AGAIN: Restoration.START_AGAIN,
}


def _those(shards: Sequence[int], answers: Sequence[bytes], expected: bytes) -> frozenset[int]:
    return frozenset(
        shard for shard, answer in zip(shards, answers, strict=True) if answer == expected
    )


def _prefix_of(key: bytes) -> bytes:
    return key[: key.rfind(b":") + 1]


def _id_in(key: bytes) -> TaskId:
    return TaskId(key[key.rfind(b":") + 1 :].decode())


_OWED_AT_A_TIME = 500


class RedisRepairs:
    def __init__(
        self,
        session: Session,
        *,
        shards: int,
        lifetimes: Lifetimes = USUAL,
    ) -> None:
        self._session = session
        self._shards = shards
        self._lease = in_ms(lifetimes.lease)
        self._window = in_ms(lifetimes.window)
        self._grace = in_ms(lifetimes.grace)
        self._repair = scripts.load("recovery/repair_record")
        self._relist = scripts.load("recovery/relist_owed")

    def repair(self, orders: Sequence[RepairOrder]) -> Sequence[RepairAnswer]:
        answers = self._session.call(self._repair, [self._call(order) for order in orders])
        return [RepairAnswer(answer.decode().lower()) for answer in answers]

    def relist(self) -> int:
        shards = (ShardKeys(shard, self._shards) for shard in range(self._shards))
        return sum(self._relisted(keys) for keys in shards)

    def _relisted(self, keys: ShardKeys) -> int:
        """Scan a shard in pages: its server does nothing else meanwhile."""
        operands, cursor, number = [keys.marker, keys.due, keys.owed], b"0", 0
        while True:
            call: Call = (operands, [cursor, _OWED_AT_A_TIME])
            ((cursor, listed),) = self._session.call(self._relist, [call])
            number += int(listed)
            if cursor == b"0":
                return number

    def _call(self, order: RepairOrder) -> Call:
        row, task, seen = order.view.row, order.view.envelope, order.seen
        keys = shard_keys(task.id, self._shards)
        return [keys.marker, keys.record(task.id), keys.due, keys.owed, keys.lifetimes], [
            task.id,
            "" if seen is None else seen.generation,
            "" if seen is None else seen.turn,
            "" if seen is None else seen.status,
            task.generation,
            task.turn,
            row.status,
            row.largest_token,
            row.losses,
            "1" if row.cancel_requested else "",
            "" if order.due_at_ms is None else order.due_at_ms,
            codec.encode(order.view.owed),
            self._lease,
            self._window,
            self._grace,
            in_ms(UNKEYED_RECORD),
            *fields_of(order.view),
        ]
