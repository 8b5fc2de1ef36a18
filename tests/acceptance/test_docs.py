"""The documentation's examples that need a running system, page by page."""

import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.acceptance.system import environment_for
from tests.docs.pages import PAGES, ROOT, blocks, blocks_of

DEADLINE = 180
HERE = "tests/acceptance/test_docs.py"
SCRIPTS = {
    page: "\n".join(one.text for one in blocks(page) if one.language == "sh" and not one.mark)
    for page in PAGES
}
WITH_SHELL = [page for page, text in SCRIPTS.items() if text]


@pytest.fixture
def shell(stack, tmp_path):
    """Return a shell next to the project, whose port 8080 is the running system."""
    bash, *others = map(shutil.which, ("bash", "curl", "jq", "sha256sum"))
    if bash is None or None in others:
        pytest.skip("the examples are written for a machine with bash, curl, jq and sha256sum")
    environment = environment_for(stack.folder, TASKMILL_URL=stack.client.url)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"

    def run(script):
        here = script.replace("localhost:8080", urlsplit(stack.client.url).netloc)
        return subprocess.run(
            [bash, "-euo", "pipefail", "-c", here],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    return run


@pytest.mark.parametrize("page", WITH_SHELL, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_shell_examples_of_a_page_run_one_after_another(shell, page):
    ended = shell(SCRIPTS[page])
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert '"type":"' not in ended.stderr


def test_the_quick_start_shows_what_it_says(shell):
    shown = shell(SCRIPTS[ROOT / "docs/quick-start.md"]).stdout
    assert '"replayed": true' in shown
    assert "attempt   3 of 4" in shown
    assert "discarded: no such order" in shown
    assert "it ended other than it should: exit code 1" in shown


def test_a_block_that_fails_is_noticed(shell):
    assert shell("curl -sf localhost:8080/v1/nothing\necho done").returncode != 0


def test_the_example_in_sql_runs(stack):
    (example,) = (one for one in blocks_of("sql") if one.runner == HERE)
    statements = [one for one in example.text.split(";\n") if one not in {"BEGIN", "COMMIT"}]
    with psycopg.connect(dsn_of(stack)) as connection:
        connection.execute("CREATE TEMPORARY TABLE orders (id integer)")
        for statement in filter(str.strip, statements):
            cursor = connection.execute(statement)
        (task_id,) = cursor.fetchone()
    await_success(stack.client, str(task_id))


def test_the_example_in_python_enqueues(stack):
    task_id = run_python("from taskmill.sql", "postgresql://shop@db.example/shop", dsn_of(stack))[
        "task_id"
    ]
    await_success(stack.client, str(task_id))


def test_the_example_of_a_producer_submits(stack):
    kafka = stack.client.platform()["stores"]["Kafka"]["address"]
    run_python("from confluent_kafka", "127.0.0.1:9092", kafka)
    request = {"type": "echo", "payload": {"say": "hello"}}
    answer = stack.client.post("/v1/tasks", request, Idempotency_Key="order 19 in Kafka")
    assert answer.status in {200, 202}
    await_success(stack.client, answer.body["id"])


def run_python(words, there, here):
    """Run the example that contains this text, with the running system's address."""
    (example,) = (one for one in blocks_of("python") if one.runner == HERE and words in one.text)
    assert there in example.text
    names = {}
    exec(example.text.replace(there, here), names)  # noqa: S102 - it is our own page
    return names


def dsn_of(stack):
    dsn = stack.client.platform()["stores"]["PostgreSQL"]["address"]
    return dsn.replace("taskmill_app@", "taskmill_enqueue@")


def await_success(client, task_id):
    assert client.task(task_id, wait=20)["status"] == "succeeded"
