"""A Valkey shard with one task, read as a shard of the models."""

from hashlib import sha1

from taskmill.core import codec
from taskmill.stores.redis.keys import shard_keys
from taskmill.stores.redis.scripts import Script
from taskmill.stores.redis.submission import read, spell
from tests.builders import now_ms
from tests.contracts.hot import SHARDS
from tests.models.shard import FINAL, Record, Shard

_LOOK = b"""#!lua flags=no-writes
local is_overwritten = redis.call("TYPE", KEYS[3])["ok"] == "string"
return {
  is_overwritten and 1 or 0,
  ARGV[1], redis.call("GET", KEYS[1]) or "", redis.call("GET", KEYS[2]) or "",
  is_overwritten and {} or redis.call("HGETALL", KEYS[3]), redis.call("PTTL", KEYS[3]),
  redis.call("ZRANGE", KEYS[4], 0, -1, "WITHSCORES"), redis.call("HGETALL", KEYS[5])}
"""
LOOK = Script(_LOOK, sha1(_LOOK, usedforsecurity=False).hexdigest())
"""All that a shard holds of its one task, at once."""


class ValkeyShard:
    """The shard of one task: its content, and ways to let time pass."""

    def __init__(self, session, words):
        self._session = session
        self._words = words
        self._keys = keys = shard_keys(words.id, SHARDS)
        self._record = keys.record(words.id)
        self._all = [keys.marker, keys.rebuild, self._record, keys.due, keys.owed]

    def read(self):
        """Return what a model would contain, reduced by `seen_from_outside`."""
        (held,) = self._session.call(LOOK, [(self._all, [])])
        is_overwritten, run_id, marker, rebuild, record, stays, due, owed = held
        word, _, server = rebuild.partition(b"|")
        return Shard(
            marker=int(marker == run_id),
            word=int(word) if server == run_id else 0,
            record=self._record_of(_pairs(record), stays) if record else None,
            due=frozenset(self._entries_of(_pairs(due), _pairs(owed))),
            is_overwritten=bool(is_overwritten),
        )

    def _record_of(self, fields, stays):
        known = {name.decode(): value.decode() for name, value in fields.items()}
        settled_turn, settled_token = known.get("settled", "0|0").split("|")
        return Record(
            generation=self._words.generation_of(int(known["generation"])),
            turn=int(known["turn"]),
            status=known["status"],
            token=self._words.token_of(int(known["token"])),
            submission=int(known["submission"]),
            body=known["fingerprint"],
            lease=_lease(known.get("lease_until")),
            source=_number(known.get("source")),
            losses=int(known["losses"]),
            settled=(int(settled_turn), self._words.token_of(int(settled_token))),
            last=self._words.facts_of(codec.open_fact_list(known.get("last", "").encode())),
            cancel_requested=known.get("cancel_requested") == "1",
            ends=known["status"] not in FINAL and stays >= 0,
        )

    def _entries_of(self, due, owed):
        assert due.keys() <= owed.keys(), "a due entry without bytes"
        for member in owed:
            when = _when(due.get(member))
            yield self._words.entry_of(read(member), codec.open_owed(owed[member]), when)

    def let_lapse(self):
        self._session.command("HSET", self._record, "lease_until", 1)

    def make_due(self, entry):
        self._session.command("ZADD", self._keys.due, "XX", 0, spell(self._words.owed_key(entry)))

    def let_outlive(self):
        """Let the lifetime of the task's record end."""
        self._session.command("ZADD", self._keys.lifetimes, 0, self._words.id)

    def overwrite_record(self):
        self._session.command("SET", self._record, "of another type")

    def end_record(self):
        self._session.command("DEL", self._record)


def _pairs(flat):
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _when(at):
    if at is None:
        return "unlisted"
    return "due" if float(at) <= now_ms() else "later"


def _lease(until):
    if until is None:
        return ""
    if until == "0":
        return "closed"
    return "alive" if int(until) > now_ms() else "lapsed"


def _number(source):
    """Return the number of a take; -1 is an unknown one."""
    return int(source.removeprefix("take ").split(".")[0]) if source else -1


def seen_from_outside(shard):
    """Omit the holders of due entries, and the expiry of finished records."""
    record = shard.record
    if record is not None and record.is_final:
        record = record._replace(ends=False)
    due = {one._replace(when="later" if one.is_held else one.when) for one in shard.due}
    is_open = int(not shard.is_cold)
    seen = Shard(marker=is_open, word=shard.word, record=record, due=frozenset(due))
    return seen._replace(is_overwritten=shard.is_overwritten)
