"""The shared system is idle between tests, whatever a test did."""

import json

import psutil

from tests.faults.effects import Effects
from tests.waiting import eventually


def test_a_line_that_is_half_there_spoils_no_other(tmp_path):
    effects = Effects(tmp_path / "all.jsonl")
    assert effects.under("abcd") == []
    effects.path.write_text('\n{"label":"a"}\n\n{"label":"b\n{"label":"c"}\n\n{"la')
    assert [line["label"] for line in effects.under("abcd")] == ["a", "c"]
    with effects.path.open("a") as file:
        file.write('bel":"d"}\n\n{"label":"e"}\n')
    assert [line["label"] for line in effects.under("abcd")] == ["a", "c", "d"]


def test_who_was_to_crash_and_did_not_is_ended_behind_its_test(stack, run):
    order = stack.arm("Gateway", "gateway after the script of change", 10)
    run.submit([run.request(1)])
    run.await_ends()
    assert not order.exists()
    armed = {pid for pid in stack.pids("Gateway") if is_armed(pid)}
    assert len(armed) == 1
    stack.disarm()
    eventually(
        lambda: armed.isdisjoint(stack.pids("Gateway")), within=30, reason="none is left to crash"
    )
    assert run.complaints() == []


def is_armed(pid):
    return "TASKMILL_CRASH_AT" in psutil.Process(pid).environ()


def test_an_order_that_nobody_took_is_taken_back(stack, run):
    order = stack.arm("Inbox", "inbox after admit", 10)
    stack.disarm()
    assert not order.exists()
    run.leave_in_inbox([run.request(1)])
    run.await_rows(1)
    run.await_ends()
    assert run.complaints() == []


def test_an_effect_under_another_token_and_one_that_goes_out_again_are_seen(stack, run):
    """The negative control of I5: nothing in the probe or its table hides a second effect."""
    run.submit([run.request(1, keeps=True)])
    run.await_ends()
    assert run.complaints(kills=0, in_flight=0) == []
    (label,) = run.ids
    stack.ask(
        "INSERT INTO receipts SELECT 'other', label, generation FROM receipts"
        " WHERE label = %s RETURNING label",
        label,
    )
    (effect,) = [line for line in stack.left({label}) if line["kind"] == "effect"]
    with stack.effects.path.open("a") as file:
        file.write(f"{json.dumps(effect)}\n")
    assert run.complaints(kills=0, in_flight=0) == [
        f"I5 effect once: {label}: its effect stands 2 times for generation {effect['generation']}",
        "I5 effect once: all: 1 effects went out again; 0 kills allow 0",
    ]
