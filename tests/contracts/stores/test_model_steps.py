"""In any sequence of calls, a model's step answers and changes the same as its script.

What the models show is so true of the scripts. What Valkey holds after a call is read as a shard of
the models, and compared whole. No model knows of attempts, of what readers want to know, of how
long a key is kept, of far tasks in a rebuild, and of losses in the ledger: here the task has no
key, and the rest is not looked at. That memory does as Valkey is shown by `test_same_answers`.
"""

import random
from collections import defaultdict
from datetime import timedelta
from inspect import unwrap

import pytest

from taskmill.core import codec
from taskmill.core.codec import RawEnvelope
from taskmill.core.owed import Cold, Owed
from taskmill.core.task import Status, Timing
from taskmill.core.time import in_ms
from taskmill.core.view import Ending, Waiting
from taskmill.dispatch.waiting import DelayOrder
from taskmill.execution.lease import Claimed, NextTurn, Settlement
from taskmill.lanes.lane import member_of
from taskmill.orders.control import CancelOrder, ChangeOrder, Ordered, Redriven, RedriveOrder
from taskmill.recovery.divergence import RepairOrder
from taskmill.recovery.placement import InDueSet, InFlight, InLine, Overwritten
from taskmill.stores.redis.session import Session
from taskmill.submission.admission import Created
from tests.builders import NEVER, a_claim, a_lease, a_source, now_ms
from tests.contracts.hot import InValkey
from tests.contracts.model_words import AHEAD, Words
from tests.contracts.valkey_shard import ValkeyShard, seen_from_outside
from tests.models.ledger import Row
from tests.models.rules import Rules
from tests.models.scripts.admit import admit
from tests.models.scripts.answers import DECLARED, unread
from tests.models.scripts.begin_rebuild import begin_rebuild
from tests.models.scripts.cancel_task import cancel_task, may_run
from tests.models.scripts.change_task import change_task
from tests.models.scripts.claim_turn import claim_turn
from tests.models.scripts.clear_owed import clear_owed
from tests.models.scripts.delay_task import delay_task
from tests.models.scripts.drop_unreadable import drop_unreadable
from tests.models.scripts.extend_lease import extend_lease
from tests.models.scripts.forget_record import forget_record
from tests.models.scripts.keep_rebuild import keep_rebuild
from tests.models.scripts.look_at_turn import look_at_turn
from tests.models.scripts.open_shard import open_shard
from tests.models.scripts.park_turn import park_turn
from tests.models.scripts.place_turn import place_turn
from tests.models.scripts.redrive_task import redrive_task
from tests.models.scripts.relist_owed import relist_owed
from tests.models.scripts.repair_record import repair_record
from tests.models.scripts.restore_records import restore_records
from tests.models.scripts.settle_turn import settle_turn
from tests.models.scripts.take_due import take_due
from tests.models.shard import WAITING, Entry, Envelope, Fact, Record, Reply, Shard

SEEDS = 20
STEPS = 250
OVER = timedelta(seconds=-1)
HOUR = timedelta(hours=1)
AGES = timedelta(days=10_000)
"""A span that ends while no test runs."""
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
FACTS = {"succeeded": "succeeded", "dead": "dead", "cancelled": "cancelled", "retrying": "deferred"}
"""The result of an attempt, and its facts."""
STATUSES = ("queued", "running", "scheduled", "scheduled", "retrying", *FACTS)
"""What the ledger may say; more often that a task waits, since that is then owed."""

PLACES = {
    InFlight: "LIVES",
    InDueSet: "OWED",
    InLine: "WAITS",
    Overwritten: "UNREADABLE",
    Cold: "COLD",
}

WEIGHTS = {
    "admit": 6,
    "clear_owed": 1,
    "take_due": 2,
    "claim_turn": 12,
    "look_at_turn": 4,
    "place_turn": 4,
    "extend_lease": 2,
    "settle_turn": 6,
    "cancel_task": 2,
    "redrive_task": 2,
    "change_task": 4,
    "delay_task": 4,
    "repair_record": 3,
    "restore_records": 0.2,
    "drop_unreadable": 0.3,
    "park_turn": 1,
    "forget_record": 0.5,
    "relist_owed": 2,
    "member_is_lost": 2,
    "record_is_overwritten": 0.5,
    "begin_rebuild": 0.2,
    "keep_rebuild": 0.2,
    "open_shard": 0.2,
    "lease_lapses": 9,
    "entry_becomes_due": 4,
    "record_ends": 0.5,
    "client_looks": 3,
    "rebuild_is_left": 0.1,
    "server_forgets": 0.3,
    "server_is_another": 4,
}
"""Claims most of all: they have the most answers."""
OPENING = ("admit", *("claim_turn", "lease_lapses") * 5)
"""A task that loses its takers has more answers to claims."""
WHILE_COLD = dict.fromkeys(WEIGHTS, 0.3) | {
    "restore_records": 8,
    "begin_rebuild": 8,
    "keep_rebuild": 1,
    "open_shard": 5,
}


def step(function, shard, **words):
    """Take a step that no model takes, so that its answer does not count as reached."""
    return unread(function, shard, Rules()) or unwrap(function)(shard, Rules(), **words)


class Walk:
    """One task in a model's shard and in Valkey; random calls go to both.

    A call returns the model's reply and Valkey's; None when the call was not possible.
    """

    def __init__(self, session, chance):
        self.hot, self.chance = InValkey(session), chance
        self.words = Words()
        self.valkey = ValkeyShard(session, self.words)
        self.shard = Shard()
        self.lives = []
        self.seen = None
        self.rebuilds = 0
        self.holds = [(None, None)]

    def next_verb(self):
        weights = WHILE_COLD if self.shard.is_cold else WEIGHTS
        (verb,) = self.chance.choices(list(weights), weights.values())
        return verb

    def go(self, verb, where):
        """Compare both, and return the model's answer."""
        went = getattr(self, verb)()
        if went is None:
            return ""
        reply, said = went
        assert said == {name: getattr(reply, name) for name in said}, where
        self.shard = reply.shard
        assert self.valkey.read() == seen_from_outside(self.shard), where
        return reply.answer

    # The scripts

    def admit(self):
        submission, body = self.chance.choice((0, 1)), self.chance.choice("XXY")
        is_past = self.chance.random() < 0.5
        shard = self.shard._replace(past=self.shard.clock if is_past else -1)
        reply = step(admit, shard, submission=submission, body=body)
        admission = self.hot.admission(hold=HOUR, window=OVER if is_past else HOUR)
        (verdict,) = admission.admit([self.words.envelope(Envelope(0, 1, submission, body))])
        if isinstance(verdict, Created):
            self._begin(Envelope(reply.generation, 1, submission, body), verdict)
        said = self.words.answer_of(verdict)
        owed = getattr(verdict, "owed", None)
        if owed is not None:
            key = self.words.owed_key(Entry(said["generation"], 1, "submission", ""))
            said["owed"] = self.words.entry_of(key, owed, reply.owed.when if reply.owed else "")
        return reply, {"owed": None} | said

    def clear_owed(self):
        task = self._task()
        kind = self.chance.choice(("submission", "turn", "facts"))
        entry = Entry(task.generation, task.turn, kind, "later")
        is_last = self.chance.random() < 0.7
        hold, until = self.holds[-1] if is_last else self.chance.choice(self.holds)
        reply = step(clear_owed, self.shard, entry=entry, hold=hold)
        (cleared,) = self.hot.admission().clear([self.words.owed_key(entry, hold=until)])
        return reply, self.words.answer_of(cleared)

    def take_due(self):
        hold = len(self.holds)
        reply = step(take_due, self.shard, hold=hold)
        taken = self.hot.due(hold=HOUR).take(most=100)
        self.holds += [(hold, key.hold) for key, _ in taken[:1]]
        _wait_for_the_next_millisecond()  # else the next hold may be the same one
        entries = (self.words.entry_of(key, owed, "due") for key, owed in taken)
        return reply, {"entries": tuple(sorted(entries))}  # the port tells no cold shard

    def claim_turn(self):
        task, alone = self._task(), self.chance.random() < 0.5
        source = self.chance.choice((1, 2, 3))
        is_late = self.chance.random() < 0.1 and not self.shard.is_overwritten
        reply = step(
            claim_turn, self.shard, envelope=task, source=source, alone=alone, is_late=is_late
        )
        claim = a_claim(
            self.words.envelope(task),
            source=a_source(source),
            look=1 if is_late else NEVER,
            alone=alone,
            timeout=HOUR,
        )
        leases = self.hot.leases(lease=HOUR, adoption_age=self._age_of(task))
        (answer,) = leases.claim([claim])
        if isinstance(answer, Claimed):
            self.words.name_token(reply.token, answer.token)
        return reply, self.words.answer_of(answer)

    def look_at_turn(self):
        task = self._task()
        reply = step(look_at_turn, self.shard, envelope=task)
        turns = self.hot.turns(adoption_age=self._age_of(task))
        (state,) = turns.look([member_of(self.words.envelope(task))])
        return reply, self.words.answer_of(state)

    def place_turn(self):
        row, is_early = self._row(), self.chance.random() < 0.5
        is_early = is_early and row.status in WAITING
        reply = step(place_turn, self.shard, row=row, is_early=is_early)
        view = self._view(row, due_in_ms=HOUR_MS if is_early else -HOUR_MS)
        (placement,) = self.hot.placements().place([view])
        if isinstance(placement, InFlight):
            generation = self.words.generation_of(placement.envelope.generation)
            assert (generation, placement.envelope.turn) == self.shard.record[:2]
        return reply, {"answer": PLACES[type(placement)]}

    def extend_lease(self):
        task, token, source = self._task(), self._token(), self.chance.choice((1, 2, 3))
        is_sure = self.chance.random() < 0.7
        reply = step(
            extend_lease, self.shard, envelope=task, token=token, source=source, is_sure=is_sure
        )
        lease = a_lease(
            self.words.envelope(task),
            self.words.tokens[token],
            source=a_source(source),
            is_sure=is_sure,
        )
        (beat,) = self.hot.leases(lease=HOUR).extend([lease])
        return reply, self.words.answer_of(beat)

    def settle_turn(self):
        task, token, status = self._task(), self._token(), self.chance.choice(list(FACTS))
        facts = (Fact(task.generation, task.turn, FACTS[status], token),)
        reply = step(
            settle_turn, self.shard, envelope=task, token=token, status=status, facts=facts
        )
        following = task._replace(turn=task.turn + 1)
        waiting = Waiting(due_at_ms=now_ms() + HOUR_MS, reason="failed")
        owed = Owed(facts=self.words.facts(facts), task=self.words.envelope(following))
        settlement = Settlement(
            envelope=self.words.envelope(task),
            token=self.words.tokens[token],
            status=Status(status),
            facts=self.words.facts(facts),
            ending=Ending(finished_at_ms=now_ms()),
            next=NextTurn(waiting=waiting, owed=owed) if status == "retrying" else None,
        )
        leases = self.hot.leases(lease=HOUR, adoption_age=self._age_of(task))
        (answer,) = leases.settle([settlement])
        return reply, self.words.answer_of(answer)

    def cancel_task(self):
        """End what waits in the one way that the models know; that it may be dead is the same.

        Mostly what the order wants fits what was seen.
        """
        seen = self._seen()
        if seen is None:
            return None
        begins_later = self.chance.random() < 0.5
        is_asked = may_run(seen, Rules(), begins_later=begins_later) ^ (self.chance.random() < 0.2)
        kind = "asked" if is_asked else "cancelled"
        facts = (*self.shard.owed_facts(), Fact(*seen[:2], kind))
        reply = step(
            cancel_task,
            self.shard,
            seen=seen,
            facts=facts,
            is_asked=is_asked,
            begins_later=begins_later,
            hold=len(self.holds),
        )
        order = CancelOrder(
            id=self.words.id,
            seen=self.words.moment(seen),
            facts=self.words.facts(facts),
            ending=None if is_asked else Ending(finished_at_ms=now_ms()),
            begins_ms=_begin(later=begins_later),
        )
        (answer,) = self.hot.control(hold=HOUR).cancel([order])
        self._note_hold(answer)
        return reply, self.words.answer_of(answer)

    def redrive_task(self):
        seen = self._seen()
        life = self._life()
        known = seen or Record(life.generation, 1, "", 0, life.submission, life.body)
        known = known._replace(token=self._token())
        reply = step(redrive_task, self.shard, seen=known, status=known.status, facts=known.last)
        task = Envelope(known.generation, 1, known.submission, known.body)
        order = RedriveOrder(
            seen=self.words.moment(seen),
            envelope=self.words.envelope(task, submitted=now_ms()),
            facts=self.words.facts(known.last),
            token=self.words.tokens[known.token],
        )
        (answer,) = self.hot.control(hold=HOUR).redrive([order])
        if isinstance(answer, Redriven):
            self._begin(task._replace(generation=reply.generation), answer)
        return reply, self.words.answer_of(answer)

    def change_task(self):
        """Change its time alone: a body is the fingerprint here, and that stays."""
        seen, is_far = self._seen(), self.chance.random() < 0.5
        begins_later = self.chance.random() < 0.5
        if seen is None:
            return None
        task = Envelope(seen.generation, seen.turn + 1, seen.submission, seen.body)
        facts = (*self.shard.owed_facts(), Fact(*task[:2], "changed"))
        reply = step(
            change_task,
            self.shard,
            seen=seen,
            envelope=task,
            facts=facts,
            is_far=is_far,
            begins_later=begins_later,
            hold=len(self.holds),
        )
        due = now_ms() + (HOUR_MS if is_far else MINUTE_MS)
        timing = Timing(run_at_ms=due, turn=task.turn, said_ms=now_ms())
        order = ChangeOrder(
            seen=self.words.moment(seen),
            envelope=self.words.envelope(task, timing=timing),
            due_at_ms=due,
            facts=self.words.facts(facts),
            begins_ms=_begin(later=begins_later),
        )
        (answer,) = self.hot.control(hold=HOUR).change([order])
        self._note_hold(answer)
        return reply, self.words.answer_of(answer)

    def delay_task(self):
        task, from_ledger = self._task(), self.chance.random() < 0.5
        was_far, is_far_now = self.chance.choice(((False, False), (True, False), (True, True)))
        reply = step(
            delay_task,
            self.shard,
            envelope=task,
            is_far=is_far_now if from_ledger else was_far,
            is_far_now=is_far_now,
            from_ledger=from_ledger,
        )
        due = now_ms() + (HOUR_MS if is_far_now else MINUTE_MS)
        said = now_ms() - (HOUR_MS if was_far else 0)
        timing = Timing(run_at_ms=due, turn=task.turn, said_ms=said)
        order = DelayOrder(
            envelope=self.words.envelope(task, timing=timing),
            due_at_ms=due,
            from_ledger=from_ledger,
        )
        (answer,) = self.hot.delays(adoption_age=self._age_of(task)).delay([order])
        return reply, self.words.answer_of(answer)

    def park_turn(self):
        task, is_over = self._task(), self.chance.random() < 0.2
        slot = now_ms() // in_ms(AGES) + 1
        reply = step(park_turn, self.shard, envelope=task, slot=slot, is_over=is_over)
        parking = self.hot.parking(patience=OVER if is_over else HOUR, again_after=AGES)
        envelope = self.words.envelope(task)
        (parked,) = parking.park([RawEnvelope(envelope, codec.encode(envelope))])
        return reply, self.words.answer_of(parked)

    def repair_record(self):
        seen, row = self._seen(), self._row()
        reply = step(repair_record, self.shard, seen=seen, row=row)
        order = RepairOrder(seen=self.words.moment(seen), view=self._view(row))
        (answer,) = self.hot.repairs(lease=HOUR).repair([order])
        return reply, self.words.answer_of(answer)

    def restore_records(self):
        word, row = self._word(), self._row()
        reply = step(restore_records, self.shard, word=word, row=row)
        (answer,) = self._cold_shards().restore(str(word), [self._view(row)])
        return reply, self.words.answer_of(answer)

    def drop_unreadable(self):
        reply = step(drop_unreadable, self.shard)
        self.hot.unreadable().drop([self.words.id])
        return reply, {}  # the port tells no cold shard

    def forget_record(self):
        """Forget what has ended, as a rule; of what is far its key stays, which no model knows."""
        record = self.shard.record
        if self.shard.is_cold or (record is not None and record.status == "scheduled"):
            return None
        self.valkey.let_outlive()
        self.hot.due().forget_expired(most=10)
        return step(forget_record, self.shard), {}

    def relist_owed(self):
        reply = step(relist_owed, self.shard)
        listed = self.hot.repairs().relist()
        before = sum(one.when == "unlisted" for one in self.shard.due)
        assert listed == before - sum(one.when == "unlisted" for one in reply.shard.due)
        return reply, {}

    def begin_rebuild(self):
        self.rebuilds += 1
        reply = step(begin_rebuild, self.shard, word=self.rebuilds)
        begun = self._cold_shards().begin(str(self.rebuilds))
        return reply, {"answer": "BEGUN"} if self._shard() in begun else {}  # nor why it did not

    def keep_rebuild(self):
        word = self._word()
        reply = step(keep_rebuild, self.shard, word=word)
        kept = self._cold_shards().keep(str(word), {self._shard()})
        return reply, {"answer": "KEPT" if kept else "START AGAIN"}

    def open_shard(self):
        word = self._word()
        reply = step(open_shard, self.shard, word=word)
        opened = self._cold_shards().open(str(word), {self._shard()})
        return reply, {"answer": "OPEN" if opened else "START AGAIN"}

    # What else happens

    def lease_lapses(self):
        record = self.shard.record
        if record is None or record.lease != "alive":
            return None
        self.valkey.let_lapse()
        return self._left(record=record._replace(lease="lapsed"))

    def entry_becomes_due(self):
        entry = self._listed()
        if entry is None:
            return None
        self.valkey.make_due(entry)
        return self._left(due=self.shard.with_entry(entry._replace(when="due")).due)

    def member_is_lost(self):
        entry = self._listed()
        if entry is None:
            return None
        self.hot.unlist(self.words.owed_key(entry))
        return self._left(due=self.shard.with_entry(entry._replace(when="unlisted")).due)

    def record_ends(self):
        """Let hours pass, in which it also grows too old to be adopted."""
        record = self.shard.record
        if record is None:
            return None
        self.valkey.end_record()
        return self._left(
            is_overwritten=False, record=None, old=max(self.shard.old, record.generation)
        )

    def record_is_overwritten(self):
        self.valkey.overwrite_record()
        return self._left(record=None, is_overwritten=True)

    def client_looks(self):
        self.seen = self.shard.record

    def rebuild_is_left(self):
        self._cold_shards().leave(str(self.shard.word), {self._shard()})
        return self._left(word=0)

    def server_forgets(self):
        self.hot.forget()
        return self._left(marker=0, word=0, record=None, due=frozenset(), is_overwritten=False)

    def server_is_another(self):
        self.hot.become_another_server()
        return self._left(server=self.shard.server + 1, word=0)

    # How

    def _left(self, **changes):
        return Reply("", self.shard._replace(**changes)), {}

    def _listed(self):
        listed = sorted(one for one in self.shard.due if one.when != "unlisted")
        return self.chance.choice(listed) if listed else None

    def _begin(self, task, answer):
        self.lives.append(task)
        self.words.name_generation(task.generation, answer.generation)

    def _life(self):
        """Return a task as it was submitted or redriven once: mostly the last."""
        return self.lives[-1] if self.chance.random() < 0.7 else self.chance.choice(self.lives)

    def _note_hold(self, answer):
        if isinstance(answer, Ordered):
            self.holds.append((len(self.holds), answer.hold))
            _wait_for_the_next_millisecond()  # else the next hold may be the same one

    def _task(self):
        """Return a task as the log may have it: mostly in the turn that its record is in."""
        life, record = self._life(), self.shard.record
        present = record.turn if record and record.generation == life.generation else 1
        return life._replace(turn=max(1, present + self.chance.choice((-1, 0, 0, 0, 0, 1, 1))))

    def _token(self):
        """Return mostly the token of the record."""
        record, chance = self.shard.record, self.chance.random()
        if chance < 0.02:
            return AHEAD
        if record is not None and chance < 0.8:
            return record.token
        return self.chance.choice(sorted(set(self.words.tokens) - {AHEAD}))

    def _seen(self):
        """Return what a client saw, which may be long ago."""
        return self.shard.record if self.chance.random() < 0.7 else self.seen

    def _row(self):
        task, status = self._task(), self.chance.choice(STATUSES)
        return Row(
            task.generation,
            max(1, task.turn - (status == "retrying")),  # it waits for the next one
            status,
            largest_token=self._token(),
            submission=task.submission,
            body=task.body,
            asked_of=self.chance.choice((0, 0, task.generation)),
        )

    def _view(self, row, *, due_in_ms=HOUR_MS):
        """Let the ledger know as many losses as the record: that of the models counts none."""
        losses = self.shard.losses_of(row.generation)
        due = now_ms() + due_in_ms if row.status in WAITING else None
        return self.words.view(row, losses=losses, due_at_ms=due)

    def _age_of(self, task):
        """Return the age up to which it is adopted; the models decide what is older."""
        return OVER if task.generation <= self.shard.old else HOUR

    def _word(self):
        """Return mostly the nonce of the current rebuild, otherwise an unknown one."""
        is_own = self.shard.word and self.chance.random() < 0.8
        return self.shard.word if is_own else self.rebuilds + 1

    def _cold_shards(self):
        return self.hot.cold_shards(lease=HOUR, nonce_stays=HOUR)

    def _shard(self):
        return self._cold_shards().shard_of(self.words.id)


def _begin(*, later):
    """Return when a turn starts: after every restored lease, or some time ago."""
    return now_ms() + 2 * HOUR_MS if later else 0


def _wait_for_the_next_millisecond():
    began = now_ms()
    while now_ms() == began:
        pass


@pytest.fixture(scope="module")
def answers(valkey):
    """Return every answer; both gave the same, and then had the same content."""
    session, given = Session(valkey), defaultdict(set)
    try:
        for seed in range(SEEDS):
            walk = Walk(session, random.Random(seed))
            for number, verb in enumerate(OPENING):
                given[verb].add(walk.go(verb, f"seed {seed}, opening {number}: {verb}"))
            for number in range(STEPS):
                verb = walk.next_verb()
                given[verb].add(walk.go(verb, f"seed {seed}, step {number}: {verb}"))
    finally:
        session.close()
    return given


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_a_step_gives_every_answer_as_its_script_does(answers, name):
    assert answers[name] >= DECLARED[name]
