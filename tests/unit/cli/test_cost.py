"""The cost estimate follows the load, and its lines add up."""

import json
import re
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest

from infra.check_template import expanded, nested
from infra.rules.alarms import ALARM
from taskmill.core.counting import TABLE
from taskmill_local.cli import main
from taskmill_local.cost import Bill, bill
from taskmill_local.prices import Load, Prices, Shape

ROOT = Path(__file__).parents[3]
MILLION = Load(tasks=1_000_000)


def usd(answer: Bill, what: str) -> float:
    (line,) = [line for line in (*answer.standing, *answer.running) if line.what == what]
    return line.usd


def test_standing_still_costs_the_same_whatever_runs():
    idle, busy = bill(replace(MILLION, tasks=0)), bill(replace(MILLION, tasks=10**9))
    assert idle.standing == busy.standing
    assert (idle.running_usd, idle.usd_per_million) == (0, 0)


def test_the_figures_that_were_looked_up_come_out_again():
    answer = bill(MILLION)
    assert usd(answer, "pollers") == pytest.approx(2 * 133.20)
    assert usd(answer, "HTTP API") == pytest.approx(1.00)
    assert next(line.usd for line in answer.standing if line.what == "ledger") == pytest.approx(
        43.2
    )
    assert next(line.usd for line in answer.standing if line.what == "Kafka") == pytest.approx(
        440.64 + 30
    )


@pytest.mark.parametrize(
    ("each", "tasks", "usd_per_million"),
    [(20.0, 1, 0.433), (20.0, 10, 0.163), (20.0, 100, 0.136), (1.0, 1, 0.307), (1.0, 1000, 0.0070)],
)
def test_a_worker_costs_what_the_formula_says(each, tasks, usd_per_million):
    load = replace(MILLION, task_milliseconds=each, tasks_per_run=tasks)
    assert usd(bill(load), "workers") == pytest.approx(usd_per_million, rel=0.01)


def test_batches_make_a_task_cheaper():
    assert (
        bill(replace(MILLION, tasks_per_submit=100)).usd_per_million < bill(MILLION).usd_per_million
    )


@pytest.mark.parametrize(
    "change", [{"payload_bytes": 100_000}, {"is_keyed": True}, {"task_milliseconds": 900.0}]
)
def test_more_of_anything_costs_more(change):
    load = replace(MILLION, tasks=10**9)
    assert bill(replace(load, **change)).running_usd > bill(load).running_usd


def test_pollers_are_paid_by_the_ten():
    nine, eleven = (bill(replace(MILLION, types=types)) for types in (2, 3))
    assert usd(eleven, "pollers") == pytest.approx(2 * usd(nine, "pollers"))


def test_twice_the_price_is_twice_the_bill():
    prices = {name: 2 * getattr(Prices(), name) for name in Prices.__slots__}
    answer, dear = bill(MILLION), bill(MILLION, Prices(**prices))
    assert dear.standing_usd == pytest.approx(2 * answer.standing_usd)
    assert dear.running_usd == pytest.approx(2 * answer.running_usd)


def test_the_shape_is_that_of_the_template():
    shape, template, data = Shape(), expanded(), nested()["data.yaml"]
    mappings = list(template.of("AWS::Lambda::EventSourceMapping"))
    types = len(list(template.of("AWS::MSK::Topic")))
    assert shape.fixed_mappings == len(mappings) - types
    pollers = [mapping["ProvisionedPollerConfig"]["MinimumPollers"] for _, mapping in mappings]
    assert sum(pollers) == shape.fixed_mappings + shape.pollers_each_type * types
    assert shape.fixed_functions == len(list(template.of("AWS::Lambda::Function"))) - types
    ((_, cluster),) = data.of("AWS::MSK::Cluster")
    assert shape.brokers == cluster["NumberOfBrokerNodes"]
    storage = cluster["BrokerNodeGroupInfo"]["StorageInfo"]["EBSStorageInfo"]
    assert shape.broker_gb == storage["VolumeSize"]
    assert shape.shards == template.parameters["Shards"]["Default"]
    assert shape.ledger_minimum == template.parameters["LedgerMinimum"]["Default"]
    (_, scheduler) = next(
        one for one in template.of("AWS::Lambda::Function") if one[0] == "Scheduler"
    )
    assert shape.memory_gb == scheduler["MemorySize"] / 1024
    each = [alarm["Condition"] for alarm in nested()["function_alarms.yaml"].resources.values()]
    assert shape.alarms_each_function == each.count("HasFunction")
    assert shape.alarms_each_mapping == each.count("HasMapping")
    assert shape.alarms_each_log_reader == each.count("HasWork")
    others = [*template.of(ALARM), *data.of(ALARM)]
    assert shape.alarms_else == len(others)


def test_what_is_deployed_by_default_is_what_the_template_deploys():
    assert MILLION.types == len(list(expanded().of("AWS::MSK::Topic")))


def test_as_many_metrics_are_paid_for_as_the_table_can_make():
    shape, typed, others = Shape(), 0, 0
    for measure in TABLE.values():
        sets = prod(len(words) for words in measure.labels.values() if words is not None)
        if "type" in measure.labels:
            typed += sets
        else:
            others += sets
    of_types = [measure for measure in TABLE.values() if "type" in measure.labels]
    assert len(of_types) <= shape.metrics_each_type <= typed
    assert len(TABLE) - len(of_types) <= shape.metrics <= others


def test_the_docs_say_what_the_command_does():
    answer = " ".join((ROOT / "docs/operations/cost.md").read_text().split())
    (standing, each, batched) = re.findall(
        r"about (\d+) USD a month when idle, .{,80}? and about ([\d.]+) USD per million"
        r" small tasks, or ([\d.]+) when they come in batches",
        answer,
    )[0]
    assert float(standing) == pytest.approx(bill(MILLION).standing_usd, rel=0.05)
    assert float(each) == pytest.approx(bill(MILLION).usd_per_million, abs=0.05)
    batches = replace(MILLION, tasks_per_submit=100, tasks_per_run=100)
    assert float(batched) == pytest.approx(bill(batches).usd_per_million, abs=0.05)


def test_the_command_shows_the_bill_and_what_it_is_worth(capsys):
    assert main(["cost", "--tasks-per-month", "5e6", "--per-submit", "100"]) == 0
    answer = capsys.readouterr().out
    assert "5,000,000 tasks" in answer
    assert "per million tasks" in answer
    assert "never compared with a bill" in answer


def test_the_bill_is_there_for_machines(capsys):
    assert main(["cost", "--tasks-per-month", "1e6", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["standing_usd"] == pytest.approx(sum(line["usd"] for line in answer["standing"]))
    assert answer["usd_per_million"] == pytest.approx(answer["running_usd"])


@pytest.mark.parametrize("number", ["-1", "1.5", "nan", "inf", "many"])
def test_a_count_that_is_none_is_refused(number, capsys):
    with pytest.raises(SystemExit) as left:
        main(["cost", "--tasks-per-month", number])
    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
