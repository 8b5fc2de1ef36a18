"""The `taskmill` command as users see it."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from taskmill_local.stores.start import Stores
from tests.acceptance.ledger import ends
from tests.acceptance.system import (
    COMMAND,
    DEADLINE,
    QUICK,
    System,
    a_folder,
    environment_for,
    processes_of,
    remove,
    run_command,
)
from tests.waiting import eventually

ROOT = Path(os.environ.get("TASKMILL_ROOT", Path.cwd()))
UNKNOWN = "01a1ef2c-e0f2-73ed-aa8e-b76fd0178442"


def test_the_demo_ends_well_and_leaves_nothing(folder):
    result = run_command(folder, "demo", "--json")

    assert result.returncode == 0, result.stderr
    ends = [(task["status"], task.get("reason")) for task in json.loads(result.stdout)["tasks"]]
    assert ends == [("succeeded", None)] * 11 + [
        ("dead", "discarded"),
        ("dead", "failed"),
    ]
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


def test_a_demo_without_a_terminal_tells_each_change_on_a_line(folder):
    result = run_command(folder, "demo")

    assert result.returncode == 0, result.stderr
    assert "sleeps one second: queued\n" in result.stdout
    assert "sleeps one second: succeeded\n" in result.stdout
    assert (
        "“Your order is on its way”, from taskmill@local.example to ada@example.com"
        in result.stdout
    )
    assert re.search(r"A report of 3 rows is at s3://\S+: “17,1999”", result.stdout)
    assert re.search(r"A webhook arrived at http://\S+, and its signature is valid", result.stdout)
    assert re.search(r"A schedule fires every 2 s, each time once: at \S+, ", result.stdout)
    assert "\x1b" not in result.stdout


def test_ctrl_c_stops_everything_and_says_so(folder):
    system = System(folder, arguments=()).start()
    assert len(processes_of(folder)) > 4

    code = system.stop(signal.SIGINT)

    assert (code, system.output.read_text().splitlines()[-1]) == (0, "stopped")
    assert system.complaints.read_text() == ""
    assert processes_of(folder) == []


def test_ctrl_c_during_the_start_leaves_no_process(folder):
    system = System(folder)
    system.launch()
    eventually(lambda: len(processes_of(folder)) > 1, within=DEADLINE, reason="a store starts")

    assert system.stop(signal.SIGINT) == 130
    assert processes_of(folder) == []


def test_two_systems_run_side_by_side(folder):
    other_folder = a_folder()
    systems = [System(folder).start(), System(other_folder).start()]
    try:
        for number, system in enumerate(systems):
            task = system.client.submit({"say": number})
            ended = system.client.task(task["id"], wait=25)
            assert (ended["status"], ended["result"]) == ("succeeded", {"say": number})
            eventually(
                lambda client=system.client, task=task: (
                    [one["id"] for one in client.get("/v1/tasks").body["tasks"]] == [task["id"]]
                ),
                within=DEADLINE,
                reason="each ledger lists its own task and no other",
            )
    finally:
        for system in systems:
            system.stop()
        remove(other_folder)


def test_a_taken_port_is_named_before_anything_else_starts(folder):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        result = run_command(folder, "up", TASKMILL_PORT=str(port))

    assert result.returncode == 3
    assert f"port {port} is already taken" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert processes_of(folder) == []


def test_a_second_start_on_a_home_names_who_holds_it(folder):
    system = System(folder).start()
    result = run_command(folder, "up")

    assert result.returncode == 3
    assert f"(process {system.pid}) is running on {folder}" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert system.client.get("/healthz").status == 200
    system.stop()


def test_of_many_starts_at_once_on_a_fresh_home_one_runs_and_the_others_say_why(folder):
    starts = [
        subprocess.Popen(
            [COMMAND, "up", "--json"],
            env=environment_for(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    eventually(
        lambda: sum(start.poll() is not None for start in starts) == 4,
        within=DEADLINE,
        reason="four give up",
    )
    losers = [start for start in starts if start.poll() is not None]
    (winner,) = [start for start in starts if start not in losers]
    result = [start.communicate()[1] for start in losers]
    assert [start.returncode for start in losers] == [3] * 4
    assert [one for one in result if f"is running on {folder}" not in one] == []
    assert {len(one.splitlines()) for one in result} == {1}
    assert json.loads(winner.stdout.readline())["pid"] == winner.pid
    winner.send_signal(signal.SIGINT)
    winner.communicate(timeout=DEADLINE)


def test_a_home_that_is_closed_to_others_holds_a_system(folder):
    folder.chmod(0o700)
    system = System(folder).start()
    task = system.client.submit({"say": "hello"})
    assert system.client.task(task["id"], wait=25)["status"] == "succeeded"
    system.stop()


def test_a_system_comes_back_where_it_was_and_its_logs_are_found_from_elsewhere(folder):
    system = System(folder).start()
    first = system.snapshot
    result = run_command(folder, "logs", "-n", "1", "valkey", TASKMILL_URL=first["url"])
    assert result.returncode == 0, result.stderr
    examined = run_command(
        folder, "doctor", "--json", TASKMILL_URL=first["url"], TASKMILL_SHARDS="9"
    )
    assert (examined.returncode, examined.stdout) == (0, "{}\n"), examined.stderr
    system.stop()
    system.start()
    addresses = [
        {name: store["address"] for name, store in snapshot["stores"].items()}
        for snapshot in (first, system.snapshot)
    ]
    assert addresses[0] == addresses[1]
    system.stop()


def test_a_large_payload_goes_from_a_file_to_a_worker(folder):
    system = System(folder).start()
    file = folder / "payload.json"
    file.write_text(json.dumps({"say": "x" * 300_000}))
    url = system.snapshot["url"]
    words = ("submit", "echo", "--file", str(file), "--wait", "25", "--json")
    result = run_command(folder, *words, TASKMILL_URL=url)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["payload_ref"]["size"] == file.stat().st_size
    system.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_tasks_outlive_the_system(folder, number):
    system = System(folder, **QUICK).start()
    done = system.client.submit({"say": "done"})
    assert system.client.task(done["id"], wait=25)["status"] == "succeeded"
    begun = [system.client.submit({"sleep_seconds": 1.5, "say": say}) for say in range(6)]
    eventually(
        lambda: "running" in {system.client.task(task["id"])["status"] for task in begun},
        within=DEADLINE,
        reason="a task is at work",
    )
    before = system.snapshot

    system.stop(number)
    eventually(lambda: not processes_of(folder), within=DEADLINE, reason="everything dies with it")
    system.start()

    def have_ended():
        result = [system.client.get(f"/v1/tasks/{task['id']}") for task in (done, *begun)]
        return all(one.status == 200 and one.body["status"] == "succeeded" for one in result)

    eventually(have_ended, within=DEADLINE, reason="no task is lost")
    eventually(
        lambda: len(system.client.get("/v1/tasks?status=succeeded").body["tasks"]) == 7,
        within=DEADLINE,
        reason="the ledger knows them all",
    )
    assert system.snapshot["home"] == before["home"]
    system.stop()


def test_three_orderly_stops_of_a_long_task_are_no_losses(folder):
    system = System(folder, **QUICK).start()
    task = system.client.submit({"sleep_seconds": 4, "say": "long"})["id"]
    for _ in range(3):
        eventually(
            lambda: system.client.task(task)["status"] == "running",
            within=DEADLINE,
            reason="it is at work",
        )
        assert system.stop(signal.SIGINT) == 0
        system.start()
    end = system.client.task(task, wait=25)
    assert (end["status"], end["losses"], end["attempt"]) == ("succeeded", 0, 1)
    history = [
        (one["outcome"], one.get("reason"))
        for one in system.client.get(f"/v1/tasks/{task}/history").body["attempts"]
    ]
    assert history[:3] == [("deferred", "stopped")] * 3
    system.stop()


def test_a_redis_that_lost_the_end_of_its_file_is_rebuilt(folder):
    system = System(folder, **QUICK).start()
    result = [system.client.submit({"say": n}, idempotency_key=f"k{n}") for n in range(5)]
    for one in result:
        assert system.client.task(one["id"], wait=25)["status"] == "succeeded"
    eventually(
        lambda: len(system.client.get("/v1/tasks?status=succeeded").body["tasks"]) == 5,
        within=DEADLINE,
        reason="the ledger knows them all",
    )
    system.stop()
    (file,) = folder.glob("home/stores/valkey/appendonlydir/*.incr.aof")
    os.truncate(file, file.stat().st_size - 1_024)
    system.start()
    again = [system.client.submit({"say": n}, idempotency_key=f"k{n}") for n in range(5)]
    assert [(one["id"], one["replayed"]) for one in again] == [(one["id"], True) for one in result]
    new = system.client.submit({"say": "new"})

    def has_ended():
        answer = system.client.get(f"/v1/tasks/{new['id']}")
        return answer.status == 200 and answer.body["status"] == "succeeded"

    eventually(has_ended, within=DEADLINE, reason="Redis is rebuilt")
    assert ends(system, [one["id"] for one in result]) == [("succeeded", 5, 5)]
    system.stop()


def test_a_store_that_ends_by_itself_ends_the_system_with_a_sentence(folder):
    system = System(folder).start()
    psutil.Process(system.snapshot["stores"]["Valkey"]["pid"]).kill()

    assert system.wait() == 3
    complaint = system.complaints.read_text()
    assert "Valkey ended unexpectedly (signal SIGKILL)" in complaint
    assert str(folder / "home" / "logs" / "valkey.log") in complaint
    assert "Traceback" not in complaint
    assert processes_of(folder) == []


def test_stores_of_ones_own_are_used_instead_of_ours(folder):
    async def scenario():
        stores = Stores(folder / "own", durable=False)
        try:
            addresses = await stores.start(lambda _name, _sentence: None)
            await asyncio.to_thread(use, addresses)
        finally:
            await stores.stop()

    def use(addresses):
        system = System(
            folder,
            TASKMILL_KAFKA_BROKERS=addresses.kafka_brokers,
            TASKMILL_REDIS_URL=addresses.redis_url,
            TASKMILL_POSTGRES_DSN=addresses.postgres_app_dsn,
            TASKMILL_POSTGRES_OWNER_DSN=addresses.postgres_owner_dsn,
        ).start()
        task = system.client.submit({"say": "hello"})
        assert system.client.task(task["id"], wait=25)["status"] == "succeeded"
        result = system.client.platform()["stores"]
        assert {name: one["is_external"] for name, one in result.items()} == {
            "Kafka": True,
            "Valkey": True,
            "PostgreSQL": True,
        }
        assert list((folder / "home" / "stores").iterdir()) == []
        assert system.stop() == 0

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TASKMILL_KAFKA_BROKERS", "127.0.0.1:1", "Kafka at 127.0.0.1:1"),
        ("TASKMILL_REDIS_URL", "redis://127.0.0.1:1/0", "Redis does not answer"),
        ("TASKMILL_POSTGRES_DSN", "postgresql://me:secret@127.0.0.1:1/x", "The ledger's schema"),
    ],
)
def test_a_store_of_ones_own_that_is_away_is_said_in_one_line(folder, variable, value, words):
    result = run_command(folder, "up", **{variable: value})

    assert result.returncode == 3
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "secret" not in result.stdout + result.stderr
    assert processes_of(folder) == []


def test_a_store_of_ones_own_that_says_nothing_does_not_hold_ctrl_c(folder):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        dsn = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x"
        system = System(folder, arguments=(), TASKMILL_POSTGRES_DSN=dsn)
        system.launch()
        connection, _ = silent.accept()  # it waits for the ledger now
        with connection:
            assert system.stop(signal.SIGINT) == 130

    assert system.output.read_text().splitlines()[-1] == "stopped"
    assert processes_of(folder) == []


def test_a_function_that_does_not_start_is_named_with_its_log(folder):
    copy = folder / "project"
    copy.mkdir()
    for name in ("functions", "shared", "infra"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "template.yaml", copy)
    (copy / "functions" / "workers" / "echo" / "handler.py").write_text("import nothing_like_it\n")
    system = System(folder, arguments=(), TASKMILL_ROOT=str(copy)).start()

    said = system.output.read_text()
    log = folder / "home" / "logs" / "EchoWorker.log"
    assert f"EchoWorker does not start; its log says why: {log}" in said
    assert "nothing_like_it" in log.read_text()
    system.stop()


def test_an_interrupted_demo_leaves_nothing(folder):
    environment = environment_for(folder)
    demo = subprocess.Popen([COMMAND, "demo"], env=environment, stdout=subprocess.DEVNULL)
    eventually(lambda: len(processes_of(folder)) > 2, within=DEADLINE, reason="stores start")
    demo.send_signal(signal.SIGINT)

    assert demo.wait(timeout=DEADLINE) == 130
    assert (list(folder.iterdir()), processes_of(folder)) == ([], [])


def test_a_setting_without_sense_is_wrong_usage(folder):
    result = run_command(folder, "up", TASKMILL_PORT="http", TASKMILL_CONCURRENCY="0")

    assert result.returncode == 2
    assert "TASKMILL_PORT must be a whole number from 0 to 65535, not 'http'" in result.stderr
    assert "TASKMILL_CONCURRENCY must be a whole number" in result.stderr


def test_a_submitted_task_is_awaited_and_listed(stack):
    url = stack.client.url
    key = f"key-{os.getpid()}"
    submit = ("submit", "echo", '{"say": "hello"}', "--key", key, "--wait", "60", "--json")
    result = run_command(stack.folder, *submit, "--meta", "from=test", TASKMILL_URL=url)
    assert result.returncode == 0, result.stderr
    task = json.loads(result.stdout)
    assert (task["status"], task["result"], task["metadata"]) == (
        "succeeded",
        {"say": "hello"},
        {"from": "test"},
    )

    again = run_command(stack.folder, *submit, "--meta", "from=test", TASKMILL_URL=url)
    assert json.loads(again.stdout)["id"] == task["id"]

    def is_listed():
        page = run_command(stack.folder, "list", "--json", TASKMILL_URL=url)
        return task["id"] in {one["id"] for one in json.loads(page.stdout)["tasks"]}

    eventually(is_listed, within=DEADLINE, reason="the ledger lists it")
    card = run_command(stack.folder, "status", task["id"], "--payload", TASKMILL_URL=url)
    assert '  payload   {"say": "hello"}\n' in card.stdout
    by_key = ("status", "--type", "echo", "--key", key, "--json")
    result = run_command(stack.folder, *by_key, TASKMILL_URL=url)
    assert json.loads(result.stdout)["id"] == task["id"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("submit", "echo", '{"discard": "no"}', "--wait", "60"), 1, "discarded: no"),
        (("submit", "echo", "{say: 1}"), 2, "The payload is not JSON"),
        (("submit", "echo", '{"sleep_seconds": "x"}'), 2, "(at /payload/sleep_seconds)"),
        (("submit", "nope"), 2, "unknown_type"),
        (("status", UNKNOWN), 1, "not_found"),
        (("status", "--type", "echo", "--key", "nobody's"), 1, "no echo task has the key"),
        (("list", "--limit", "201"), 2, "limit must be a whole number from 1 to 200"),
        (("list", "--status", "lost"), 2, "there is no status 'lost'"),
        (("status",), 0, "tasks.pending to Dispatcher"),
        (("types",), 0, "Returns its payload"),
        (("logs", "gateway"), 0, "START RequestId"),
        (("logs", "nobody"), 1, "There is no log 'nobody'"),
    ],
)
def test_a_command_says_what_happened_and_exits_so(stack, arguments, code, words):
    result = run_command(stack.folder, *arguments, TASKMILL_URL=stack.client.url)

    assert (result.returncode, words in result.stdout + result.stderr) == (code, True), result


def test_a_payload_comes_from_stdin_as_it_is(stack):
    number = 2**53 + 1
    result = run_command(
        stack.folder,
        *("submit", "echo", "--file", "-", "--wait", "60", "--json"),
        stdin=f'{{"say": {number}}}',
        TASKMILL_URL=stack.client.url,
    )

    assert json.loads(result.stdout)["result"] == {"say": number}, result.stderr


def test_a_system_that_is_not_there_is_said_in_one_line(folder):
    result = run_command(folder, "list", TASKMILL_URL="http://127.0.0.1:9")

    assert result.returncode == 3
    assert result.stderr.startswith("taskmill: Nothing answers at http://127.0.0.1:9.")
    assert len(result.stderr.splitlines()) == 1


def test_the_platform_page_shows_functions_mappings_and_stores(client):
    page = client.platform()

    assert {"Gateway", "Dispatcher", "Recorder", "Scheduler"} < page["functions"].keys()
    assert all(pool["concurrency"] > 0 for pool in page["functions"].values())
    assert {mapping["topic"] for mapping in page["mappings"].values()} > {"tasks.pending"}
    assert all(psutil.pid_exists(store["pid"]) for store in page["stores"].values())
