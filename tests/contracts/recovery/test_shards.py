"""Health of shards and lanes: live, cold or rebuilding, and whether due entries are taken."""

from datetime import timedelta

from taskmill.core.owed import Owed, OwedKey, OwedKind
from taskmill.recovery.health import ShardState
from tests.builders import a_request
from tests.contracts.hot import TYPES, admitted
from tests.waiting import eventually

AT_ONCE = timedelta()


def states(hot):
    return {one.state for one in hot.shards().check()}


def unlisted(hot):
    return sum(one.unlisted for one in hot.shards().check())


def overdue_ms(hot):
    return max(one.overdue_ms for one in hot.shards().check())


def submission_of(task):
    return OwedKey(id=task.id, generation=task.generation, turn=1, kind=OwedKind.SUBMISSION)


def test_a_shard_is_live_cold_or_rebuilt(hot):
    assert states(hot) == {ShardState.LIVE}
    hot.forget()
    assert states(hot) == {ShardState.COLD}
    shards = hot.cold_shards()
    begun = shards.begin("word")
    assert states(hot) == {ShardState.REBUILDING}
    hot.become_another_server()
    assert states(hot) == {ShardState.COLD}
    shards.open("other", shards.begin("other") | begun)
    assert states(hot) == {ShardState.LIVE}


def test_a_rebuild_that_died_leaves_a_cold_shard(hot):
    hot.forget()
    hot.cold_shards(nonce_stays=timedelta(milliseconds=1)).begin("word")
    eventually(lambda: states(hot) == {ShardState.COLD}, within=5, reason="the word runs out")


def test_what_nobody_takes_is_overdue_until_it_is_taken(hot):
    assert overdue_ms(hot) == 0
    admitted(hot.admission(hold=AT_ONCE), a_request())
    eventually(lambda: overdue_ms(hot) > 0, within=5, reason="it waits")
    hot.due(hold=timedelta(minutes=1)).take(most=10)
    assert overdue_ms(hot) == 0


def test_what_is_not_due_yet_is_not_overdue(hot):
    admitted(hot.admission(hold=timedelta(hours=1)), a_request())
    assert overdue_ms(hot) == 0


def test_what_is_owed_and_lost_to_the_due_set_is_due_again(hot):
    hour = timedelta(hours=1)
    task, other = (admitted(hot.admission(hold=hour), a_request(key)) for key in "ab")
    assert (unlisted(hot), hot.repairs().relist()) == (0, 0)
    hot.unlist(submission_of(task))
    assert unlisted(hot) == 1
    assert hot.repairs().relist() == 1
    assert unlisted(hot) == 0
    assert hot.due(hold=hour).take(most=10) == [(submission_of(task), Owed(task=task))]
    assert hot.repairs().relist() == 0
    assert other.id != task.id


def test_many_that_are_lost_are_found_in_pages(hot):
    admission = hot.admission(hold=timedelta(hours=1))
    tasks = [admitted(admission, a_request(str(number))) for number in range(2_000)]
    lost = tasks[::3]
    for task in lost:
        hot.unlist(submission_of(task))
    assert hot.repairs().relist() == len(lost)
    assert unlisted(hot) == 0
    taken = {key.id for key, _ in hot.due(hold=timedelta(hours=1)).take(most=2_000)}
    assert taken == {task.id for task in lost}


def test_nothing_is_listed_again_in_a_cold_shard(hot):
    task = admitted(hot.admission(), a_request())
    hot.unlist(submission_of(task))
    hot.become_another_server()
    assert hot.repairs().relist() == 0


def lane_states(hot):
    return {one.type: one.state for one in hot.lane_states().check()}


def test_a_lane_is_live_cold_or_rebuilt(hot):
    assert lane_states(hot) == dict.fromkeys(TYPES, ShardState.LIVE)
    hot.forget_lanes()
    assert lane_states(hot) == dict.fromkeys(TYPES, ShardState.COLD)
    lanes, (first, *others) = hot.cold_lanes(), TYPES
    lanes.begin("word", [first])
    cold = dict.fromkeys(others, ShardState.COLD)
    assert lane_states(hot) == cold | {first: ShardState.REBUILDING}
    lanes.open("word", [first])
    assert lane_states(hot) == cold | {first: ShardState.LIVE}
    hot.become_another_server()
    assert lane_states(hot) == dict.fromkeys(TYPES, ShardState.COLD)
