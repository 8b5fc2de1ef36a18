"""The faults that admission tolerates, and the behaviour of its broken twins."""

from tests.models.admission.backstage import OWN_DUPLICATE, TWO_RUNS
from tests.models.admission.model import NEVER_RAN, OTHER_BODY, Admission
from tests.models.admission.state import Budget
from tests.models.case import Case, told
from tests.models.checker import STUCK
from tests.models.rules import Rules


def _ask(
    without: str = "",
    expected: str | None = None,
    *,
    bodies: str = "XX",
    deep: bool = False,
    **left: int,
) -> Case:
    """Return a case of two requests with the faults that may happen to them."""

    def make(rules: Rules) -> Admission:
        return Admission(rules, bodies, Budget(**left))

    return Case(told("admission", {"bodies": bodies} | left), make, without, expected, deep)


ADMISSION = [
    _ask(kills=2),
    _ask(kills=2, bodies="XY"),
    _ask(aways=1, kills=1),
    _ask(aways=1, bodies="XY"),
    _ask(lost_replies=1, kills=1),
    _ask(outages=1, kills=1),
    _ask(outages=1, kills=1, bodies="XY"),
    _ask(flushes=1, kills=1),
    _ask(flushes=1, kills=1, bodies="XY"),
    _ask(flushes=1, pauses=1, bodies="XY"),
    _ask(failovers=1, bodies="XY"),
]

RESIDUE = [
    # Redis is emptied twice, each time during a request that is admitted but not yet published and
    # whose gateway is paused for longer than a lease: both run.
    _ask("", TWO_RUNS, flushes=2, pauses=2, deep=True),
]

TWINS = [
    _ask("admit_knows_its_own", OWN_DUPLICATE, aways=1, kills=1),
    _ask("a_replay_publishes", STUCK, flushes=1, kills=1),
    _ask("a_drop_publishes_the_winner", STUCK, aways=1, flushes=1, kills=1, bodies="XY"),
    _ask("the_admitted_body_is_told", OTHER_BODY, flushes=1, bodies="XY"),
    _ask("an_answer_waits_for_the_clear", NEVER_RAN, flushes=1, pauses=1, bodies="XY"),
    _ask("the_outbox_counts", NEVER_RAN, outages=1, flushes=1, bodies="XY"),
    _ask("the_relay_admits_nothing", STUCK, outages=1),
    _ask("marker_names_the_server", TWO_RUNS, failovers=1),
    _ask("rebuild_waits_for_the_ledger", TWO_RUNS, flushes=1),
]

DEEP = [
    _ask(deep=True, **faults)
    for faults in (
        {"flushes": 2},
        {"flushes": 1, "pauses": 1},
        {"flushes": 1, "outages": 1},
        {"flushes": 1, "outages": 1, "bodies": "XY"},
        {"flushes": 1, "aways": 1, "bodies": "XY"},
        {"flushes": 1, "lost_replies": 1, "kills": 1},
        {"flushes": 1, "lost_replies": 1, "kills": 1, "bodies": "XY"},
        {"aways": 1, "outages": 1, "kills": 1},
        {"aways": 1, "outages": 1, "bodies": "XY"},
        {"failovers": 1, "kills": 1},
        {"failovers": 1, "outages": 1, "bodies": "XY"},
        {"flushes": 1, "outages": 1, "kills": 1, "bodies": "XY"},
    )
]

CASES = [*ADMISSION, *RESIDUE, *TWINS, *DEEP]
