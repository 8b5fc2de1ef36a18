"""A report is its rows as CSV in the bucket; a repetition replaces it."""

import csv
import io
import socket

import pytest
from msgspec import Raw

from functions.workers.report import bucket, handler
from functions.workers.report.payload import Report
from functions.workers.report.table import as_csv
from taskmill.core.facts import TaskDeferred, TaskDied, TaskSucceeded
from taskmill.core.task import TaskType
from taskmill.platform import process
from taskmill.platform.loop_executor import LoopExecutor
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill_local.bucket import Bucket
from tests.builders import an_envelope
from tests.unit.stage import Stage

ROWS = Raw(b'{"columns": ["id", "name"], "rows": [[1, "Ada"], [2, "Bob, \\"B\\""]]}')
REFERENCE = "01a31edd-2c00-7000-8000-000000000001-1794000000000"


@pytest.fixture
def stage(monkeypatch):
    stage = Stage(executor=LoopExecutor())
    stage.bind(monkeypatch)
    return stage


@pytest.fixture
def files(monkeypatch, tmp_path):
    """Yield the folder of a bucket that boto3 uses."""
    local = Bucket(tmp_path)
    answer = {**local.start(), "TASKMILL_BUCKET": "mill", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in answer.items():
        monkeypatch.setenv(name, value)
    _forget()
    yield tmp_path / "mill"
    _forget()
    local.stop()


def _forget():
    process.bucket.cache_clear()
    if bucket._client.cache_info().currsize:  # noqa: SLF001 - it knows the address
        bucket._client().close()  # noqa: SLF001 - as above
    bucket._client.cache_clear()  # noqa: SLF001 - as above


def end_of(stage, payload, **fields):
    task = an_envelope(
        type=TaskType("report"),
        generation=stage.clock(),
        created_at_ms=stage.clock(),
        payload=payload,
        **fields,
    )
    assert stage.deliver(handler.lambda_handler, task) == {"batchItemFailures": []}
    return stage.log.facts()[-1]


def test_rows_become_a_file_that_the_answer_points_at(stage, files):
    fact = end_of(stage, ROWS)
    assert isinstance(fact, TaskSucceeded)
    assert fact.result_ref.url == f"s3://mill/results/report/{REFERENCE}.csv"
    (file,) = (files / "results/report").iterdir()
    content = file.read_bytes()
    assert content == b'id,name\r\n1,Ada\r\n2,"Bob, ""B"""\r\n'
    assert fact.result_ref.size == len(content)


def test_a_repetition_writes_the_same_file(stage, files):
    first = end_of(stage, ROWS)
    again = end_of(stage, ROWS, turn=2, attempt=2)
    assert again.result_ref == first.result_ref
    assert len(list((files / "results/report").iterdir())) == 1


@pytest.mark.usefixtures("files")
def test_a_bucket_that_is_away_is_tried_again(stage, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        away = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    monkeypatch.setenv("TASKMILL_BUCKET_ENDPOINT", away)
    _forget()
    fact = end_of(stage, ROWS)
    assert isinstance(fact, TaskDeferred)
    assert fact.reason == "failed"
    assert away in fact.error_message


CELLS = ["", "a", "a,b", '"', "a\nb", "a\r\nb", " a ", "é", "=1+1", "0", "\ufeff"]


def test_every_text_comes_out_as_it_went_in():
    rows = [[cell, "x"] for cell in CELLS]
    answer = as_csv(Report(columns=["a", "b"], rows=rows, formulas="keep"))
    read = list(csv.reader(io.StringIO(answer.decode(), newline="")))
    assert read == [["a", "b"], *([cell, "x"] for cell in CELLS)]


FORMULAS = ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_a_spreadsheet_would_run_is_quoted(text):
    answer = as_csv(Report(columns=[text, "a", "b"], rows=[[text, -5, "a=b"]]))
    read = list(csv.reader(io.StringIO(answer.decode(), newline="")))
    assert read == [[f"'{text}", "a", "b"], [f"'{text}", "-5", "a=b"]]


def test_what_is_no_text_is_written_as_json_has_it():
    answer = as_csv(Report(columns=["a"] * 5, rows=[[None, True, False, 10**30, 1.5]]))
    assert answer.splitlines()[1] == b",true,false," + str(10**30).encode() + b",1.5"


def test_a_row_of_another_length_is_no_row(stage, files):
    fact = end_of(stage, Raw(b'{"columns": ["a"], "rows": [["x"], ["x", "y"]]}'))
    assert isinstance(fact, TaskDied)
    assert fact.reason == "invalid_payload"
    assert "row 2 has 2 cells but there are 1 columns" in fact.error_message


@pytest.mark.parametrize(
    ("payload", "pointer"),
    [
        ({"rows": []}, ""),
        ({"columns": [], "rows": []}, "/columns"),
        ({"columns": [""], "rows": []}, "/columns/0"),
        ({"columns": ["a"], "rows": [{}]}, "/rows/0"),
        ({"columns": ["a"], "rows": [], "formulas": "run"}, "/formulas"),
        ({"columns": ["a"], "rows": [[[]]]}, "/rows/0/0"),
    ],
)
def test_what_is_no_table_is_refused_at_the_door(payload, pointer):
    assert AssembledCatalogue().misfit("report", payload).pointer == pointer
