"""One shard's data about one task, and its changes."""

from typing import NamedTuple

FINAL = ("succeeded", "dead", "cancelled")
WAITING = ("scheduled", "retrying")
"""For a time, which the due set knows or the ledger."""


class Fact(NamedTuple):
    """A line of the log; `submitted` and `admitted` carry a body."""

    generation: int
    turn: int
    kind: str
    token: int = 0
    submission: int = -1
    body: str = ""


class Envelope(NamedTuple):
    """A task in transit; generation 0 is a deferred submission that nobody has admitted yet."""

    generation: int
    turn: int = 1
    submission: int = 0
    body: str = "X"

    def __str__(self) -> str:
        name = f"g{self.generation} t{self.turn}" if self.generation else "deferred"
        return f"<{name} {self.body} of request {self.submission}>"


class Entry(NamedTuple):
    """A due entry: owed now or later, or held by its taker."""

    generation: int
    turn: int
    kind: str
    """submission, turn or facts; parked, and in which span of time."""
    when: str
    """later, due or held, by which hold; or unlisted: its bytes are there, but it is not listed."""
    facts: tuple[Fact, ...] = ()
    envelope: Envelope = Envelope(0)

    @property
    def is_held(self) -> bool:
        return self.when.startswith("held")

    @property
    def member(self) -> tuple[int, int, str]:
        return self[:3]


class Record(NamedTuple):
    generation: int
    turn: int = 1
    status: str = "queued"
    token: int = 0
    submission: int = 0
    body: str = "X"
    lease: str = ""
    """Nothing, alive or lapsed; or closed: lapsed, and nobody can extend it any more."""
    source: int = -1
    """The take that holds the lease; -1 is nobody known."""
    losses: int = 0
    settled: tuple[int, int] = (0, 0)
    """The turn and the token of what settled last."""
    last: tuple[Fact, ...] = ()
    """The facts of the last end, for a repeated call."""
    cancel_requested: bool = False
    ends: bool = False
    """The ledger alone keeps its task: it ends after a while."""

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def is_restored(self) -> bool:
        """Return whether it has a live lease with an unknown holder, which may run it."""
        return self.lease == "alive" and self.source == -1


class Shard(NamedTuple):
    """The keys that a script may use together, for one task."""

    marker: int = 1
    """The run of the server under which the shard was opened; 0 is none."""
    server: int = 1
    word: int = 0
    """The word of the rebuild that is under way."""
    record: Record | None = None
    due: frozenset[Entry] = frozenset()
    clock: int = 0
    old: int = -1
    """The largest generation that is too old to be adopted."""
    past: int = -1
    """The largest generation whose lifetime is over, so that its key is free."""
    is_overwritten: bool = False
    """Something else wrote to the record's key: there is no record, and that is known."""

    @property
    def is_cold(self) -> bool:
        return self.marker != self.server

    def losses_of(self, generation: int) -> int:
        """Return the losses that the record has of a generation, if that is its own."""
        record = self.record
        return record.losses if record and record.generation == generation else 0

    def entry(self, member: tuple[int, int, str]) -> Entry | None:
        return next((one for one in self.due if one.member == member), None)

    def owed_facts(self) -> tuple[Fact, ...]:
        """Return what the present turn of the record still owes, each fact once."""
        if self.record is None:
            return ()
        moment = self.record[:2]
        owed = (fact for one in sorted(self.due) if one.member[:2] == moment for fact in one.facts)
        return tuple(dict.fromkeys(owed))

    def with_entry(self, entry: Entry) -> "Shard":
        return self._replace(due=self.without(entry.member).due | {entry})

    def owing(self, entry: Entry) -> "Shard":
        """Owe an entry unless it is owed already; one that is not listed is listed again."""
        known = self.entry(entry.member)
        if known is None:
            return self.with_entry(entry)
        return (
            self.with_entry(known._replace(when=entry.when)) if known.when == "unlisted" else self
        )

    def without(self, member: tuple[int, int, str]) -> "Shard":
        return self._replace(due=frozenset(one for one in self.due if one.member != member))


class Reply(NamedTuple):
    """A script's answer, and the shard after it."""

    answer: str
    shard: Shard
    generation: int = 0
    token: int = 0
    losses: int = 0
    is_alone: bool = False
    """Whether a free turn must run alone."""
    is_cancelled: bool = False
    """The flag of a claim of a task whose cancellation was requested."""
    facts: tuple[Fact, ...] = ()
    entries: tuple[Entry, ...] = ()
    owed: Entry | None = None


def told(facts: tuple[Fact, ...]) -> str:
    return ", ".join(f"{fact.kind} g{fact.generation} t{fact.turn}" for fact in facts) or "nothing"
