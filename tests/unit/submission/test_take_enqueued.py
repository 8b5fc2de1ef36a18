"""Each enqueued request becomes one task or is parked, and blocks no other."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from taskmill.core import topics
from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.core.pointers import payload_key
from taskmill.core.task import keyed_id
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill.submission.enqueued import LARGEST_REQUEST, MAY_BE_FORGOTTEN, OCTETS_HELD, Enqueue
from taskmill.submission.take_enqueued import (
    LOOKS_AT_A_TIME,
    REST_WITHOUT_THE_LEDGER,
    ROUNDS,
    ROWS_AT_A_TIME,
    ParkedRequests,
    RequestTaker,
    look_at_request,
)
from tests.builders import ECHO, a_new_id
from tests.unit.world import Away, Instead, World

DIGEST = "0" * 64
POINTER = (
    b'{"type": "echo", "payload_ref": {"url": "s3://memory/%s", "size": 1, "sha256": "%s"}}'
    % (payload_key("echo", "default", DIGEST).encode(), DIGEST.encode())
)


@pytest.fixture
def world():
    return World(catalogue=AssembledCatalogue())


@pytest.fixture
def requests(world):
    return world.requests


@pytest.fixture
def blobs(world):
    return world.blobs


def taken(world, **others):
    return RequestTaker(world.stores(**others)).take()


def enqueue(requests, *bodies, submission="s1"):
    wishes = [Enqueue(task_id=a_new_id(), submission=submission, request=one) for one in bodies]
    requests.add(wishes)
    return [wish.task_id for wish in wishes]


def enqueue_keyed(requests, key, payload=b"1", submission="s1"):
    body = b'{"type":"echo","payload":{"say":%s},"idempotency_key":"%s"}' % (payload, key.encode())
    task_id = keyed_id("default", ECHO, key)
    requests.add([Enqueue(task_id=task_id, submission=submission, request=body)])
    return task_id


def published(world):
    return [task.id for task in world.log.tasks(topics.PENDING)]


def parked(requests):
    return [
        (row.task_id, row.parked.reason, row.parked.pointer)
        for row in requests.page(is_parked=True, before=None, most=100)
    ]


def test_a_request_becomes_a_task_that_runs_once(world, requests):
    world.pass_time(milliseconds=5_000)
    (task_id,) = enqueue(requests, b'{"type": "echo", "payload": {"say": 1.10}}')
    world.pass_time(milliseconds=700)
    assert taken(world) == 1
    (task,) = world.log.tasks(topics.PENDING)
    assert (task.id, task.submission, bytes(task.payload)) == (task_id, "s1", b'{"say":1.1}')
    assert task.created_at_ms == world.now - 700
    world.dispatch()
    world.work()
    assert world.performed == [task_id]
    assert taken(world) == 0


def test_a_request_that_is_taken_again_is_the_same_task(world, requests):
    """As after a death before the mark: the row comes again, whoever reads it."""
    (task_id,) = enqueue(requests, b'{"type": "echo"}')
    taken(world)
    requests.kept[0].done_at_ms = None
    taken(world)
    world.let_holds_end()
    world.publish_due()
    world.dispatch()
    world.work()
    assert world.performed == [task_id]


def forget_the_mark(world, requests, *, meanwhile=MAY_BE_FORGOTTEN * 8):
    """Make PostgreSQL unavailable before the mark, until Redis has forgotten the task."""
    requests.kept[0].done_at_ms = None
    world.dispatch()
    world.work()
    world.wait(meanwhile)


@pytest.mark.parametrize("is_late", [True, False])
def test_what_ran_long_before_its_mark_does_not_run_again(world, requests, is_late):
    (task_id,) = enqueue(requests, b'{"type": "echo"}')
    taken(world)
    forget_the_mark(world, requests)
    if is_late:  # the ledger was away as long, and has not read the log yet
        assert taken(world) == 0
        world.wait(REST_WITHOUT_THE_LEDGER)
    world.record()
    assert taken(world) == 1
    assert published(world) == [task_id]
    assert not requests.is_any_waiting()


def test_what_was_not_taken_for_long_is_taken_once_the_ledger_can_tell(world, requests):
    ids = enqueue(requests, *[b'{"type": "echo"}'] * 2)
    world.admitted()  # what other doors took, and the ledger has not read
    world.wait(MAY_BE_FORGOTTEN * 2)
    assert taken(world) == 0
    (young,) = enqueue(requests, b'{"type": "echo"}')
    assert taken(world) == 1
    world.wait(REST_WITHOUT_THE_LEDGER)
    world.record()
    world.admitted()  # it lacks the last minutes alone
    assert taken(world) == 2
    assert [one for one in published(world) if one in {young, *ids}] == [young, *ids]


def test_while_the_log_is_away_nobody_can_tell_what_it_has(world, requests):
    enqueue(requests, b'{"type": "echo"}')
    taken(world)
    forget_the_mark(world, requests)
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        taken(world)


def test_what_was_admitted_by_one_that_died_is_published_by_the_next(world, requests):
    (task_id,) = enqueue(requests, b'{"type": "echo"}')
    world.log.is_away = True
    with pytest.raises(StoreUnavailable):
        taken(world)
    world.log.is_away = False
    assert taken(world) == 1
    assert published(world) == [task_id]


def test_the_same_request_under_a_key_is_done_as_a_replay(world, requests):
    task_id = enqueue_keyed(requests, "k")
    taken(world)
    enqueue_keyed(requests, "k", submission="s2")
    assert taken(world) == 1
    assert published(world) == [task_id]
    assert parked(requests) == []


def test_another_request_under_the_key_is_parked(world, requests):
    task_id = enqueue_keyed(requests, "k")
    enqueue_keyed(requests, "k", payload=b"2", submission="s2")
    assert taken(world) == 2
    assert published(world) == [task_id]
    assert parked(requests) == [(task_id, "idempotency_key_reused", "/idempotency_key")]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"type": "nobody"}', ("unknown_type", "/type")),
        (b'{"type": "echo", "payload": 1}', ("invalid_payload", "/payload")),
        (b'{"type": "echo", "cost": 3}', ("not_supported_yet", "/cost")),
        (b'{"type": "echo", "type": "echo"}', ("bad_request", None)),
        (b'{"type": "echo", "max_attempts": 0}', ("invalid_request", "/max_attempts")),
        (b"[]", ("invalid_request", "")),
        (POINTER, ("payload_missing", "/payload_ref")),
    ],
)
def test_what_is_no_request_is_parked_and_the_others_flow(world, requests, body, why):
    stuck, good = enqueue(requests, body, b'{"type": "echo"}')
    assert taken(world) == 2
    assert published(world) == [good]
    assert parked(requests) == [(stuck, *why)]


def test_while_a_store_is_away_all_of_them_wait(world, requests):
    ids = enqueue(requests, *[b'{"type": "echo"}'] * 3)
    with pytest.raises(StoreUnavailable):
        taken(world, admission=Away())
    assert published(world) == []
    assert taken(world) == 3
    assert published(world) == ids


def test_while_the_bucket_is_away_those_that_point_there_are_passed_over(world, requests, blobs):
    pointing, good = enqueue(requests, POINTER, b'{"type": "echo"}')
    blobs.is_away = True
    assert taken(world) == 1
    assert published(world) == [good]
    blobs.is_away = False
    assert taken(world) == 0
    world.wait(timedelta(seconds=1))
    assert taken(world) == 1
    assert parked(requests) == [(pointing, "payload_missing", "/payload_ref")]


def test_a_long_line_of_those_that_point_at_an_absent_bucket_holds_up_nobody(
    world, requests, blobs
):
    blocked = enqueue(requests, *[POINTER] * (ROWS_AT_A_TIME + 1))
    (good,) = enqueue(requests, b'{"type": "echo"}')
    blobs.is_away = True
    assert taken(world) == 1
    assert published(world) == [good]
    blobs.is_away = False
    world.wait(timedelta(seconds=1))
    assert taken(world) == len(blocked)


def test_a_bucket_that_did_not_answer_is_not_asked_again_in_the_round(world, requests):
    """Each question may take seconds, and rows are held for five."""
    enqueue(requests, *[POINTER] * ROWS_AT_A_TIME)
    asked = []

    def look(url):
        asked.append(url)
        raise StoreUnavailable("S3", "it hangs")

    assert taken(world, blobs=Instead(world.blobs, look=look)) == 0
    assert len(asked) == 1


def test_a_bucket_that_refuses_to_be_asked_holds_up_nobody(world, requests):
    def look(_url):
        raise BlobRefused("S3 answered 400")

    _, good = enqueue(requests, POINTER, b'{"type": "echo"}')
    assert taken(world, blobs=Instead(world.blobs, look=look)) == 1
    assert published(world) == [good]
    assert parked(requests) == []


def test_a_round_asks_a_slow_bucket_only_so_often(world, requests, blobs):
    enqueue(requests, *[POINTER] * (LOOKS_AT_A_TIME + 1))
    rounds = []

    @contextmanager
    def noted(*, most):
        with requests.held(most=most) as rows:
            yield rows
        rounds.append(len(parked(requests)))

    assert taken(world, requests=Instead(requests, held=noted)) == LOOKS_AT_A_TIME + 1
    assert rounds == [LOOKS_AT_A_TIME, LOOKS_AT_A_TIME + 1]


def test_a_type_that_is_deployed_behind_its_requests_still_gets_them(world, requests):
    (late,) = enqueue(requests, b'{"type": "nobody"}')
    (misfit,) = enqueue(requests, b'{"type": "echo", "payload": 1}')
    taken(world)
    assert ParkedRequests(world.stores()).take_up() == 0
    requests.kept[0].row = replace(requests.kept[0].row, request=b'{"type": "echo"}')
    assert ParkedRequests(world.stores()).take_up() == 1
    assert taken(world) == 1
    assert published(world) == [late]
    assert parked(requests) == [(misfit, "invalid_payload", "/payload")]


def test_nobody_takes_up_what_was_refused_long_ago(world, requests):
    enqueue(requests, b'{"type": "nobody"}')
    taken(world)
    requests.kept[0].row = replace(requests.kept[0].row, request=b'{"type": "echo"}')
    world.wait(timedelta(minutes=10))
    assert ParkedRequests(world.stores()).take_up() == 0


def test_a_long_line_is_taken_in_parts_and_others_get_their_turn(world, requests):
    enqueue(requests, *[b'{"type": "echo"}'] * (ROWS_AT_A_TIME * ROUNDS + 1))
    assert taken(world) == ROWS_AT_A_TIME * ROUNDS
    assert taken(world) == 1


def test_large_requests_are_taken_a_few_at_a_time(world, requests):
    body = b'{"type": "echo", "payload": {"say": "%s"}}' % (b"x" * (250_000))
    ids = enqueue(requests, *[body] * (OCTETS_HELD // len(body) + 2))
    assert taken(world) == len(ids)
    assert published(world) == ids


def test_what_is_too_large_to_be_a_request_is_parked(world, requests):
    body = b'{"type": "echo", "payload": 1%s}' % (b" " * LARGEST_REQUEST)
    huge, good = enqueue(requests, body, b'{"type": "echo"}')
    assert look_at_request(huge, requests, world.catalogue).refused.code == "invalid_request"
    assert taken(world) == 2
    assert published(world) == [good]
    assert parked(requests) == [(huge, "invalid_request", "")]


def test_a_request_is_read_as_of_its_own_moment_however_late_that_is(world, requests):
    """Taken before by one that died, it must not be refused by the next for having come late."""
    expires = datetime.fromtimestamp(world.now / 1000 + 60, UTC).isoformat()
    body = b'{"type": "echo", "delay_seconds": 30, "expires_at": "%s"}' % expires.encode()
    (task_id,) = enqueue(requests, body)
    world.wait(timedelta(seconds=45))
    assert taken(world) == 1
    assert published(world) == [task_id]
