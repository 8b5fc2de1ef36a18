"""The API requests that commands send, and how they show the responses."""

import base64
import json
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import pytest

from taskmill.submission.request import PAYLOAD_BYTES
from taskmill_local.cli import main

TASK = {
    "id": "t1",
    "type": "echo",
    "status": "queued",
    "attempt": 1,
    "max_attempts": 4,
    "created_at": "2026-11-06T21:20:00.000Z",
    "metadata": {},
}
EVERY_FILTER = (
    "list --type echo --status dead --meta order=17 --after A --before B --reason failed"
    " --error-class KeyError --dead-after C --dead-before D --limit 5 --cursor E"
)
NOTHING = {"tasks": [], "requests": [], "endpoints": [], "records": [], "schedules": []}


def test_a_submission_says_how_waits_between_attempts_grow_and_that_it_begins_at_once(stub):
    stub.answers(TASK)
    assert main(["submit", "echo", "--retry", "5:2:600", "--delay", "0"]) == 0
    ((_, _, body),) = stub.requests
    assert body["retry"] == {"first_seconds": 5, "factor": 2, "cap_seconds": 600}
    assert body["delay_seconds"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["submit", "echo", "--delay", "-1"],
            "argument --delay: give a number of seconds, 0 or more",
        ),
        (["submit", "echo", "--timeout", "0"], "argument --timeout: give a number of seconds abov"),
        (["submit", "echo", "--retry", "1:2:3:4"], "argument --retry: give FIRST[:FACTOR[:CAP]]"),
        (
            ["change", "t1", "--delay", "nan"],
            "argument --delay: give a number of seconds, 0 or more",
        ),
        (["list", "--limit", "x"], "argument --limit: give a whole number, 1 or more, not 'x'"),
        (["redrives", "start", "--rate", "0"], "argument --rate: give a number above 0"),
        (["cost", "--tasks-per-month", "1.5"], "argument --tasks-per-month: give a whole number"),
        (
            ["schedule", "next", "n", "--count", "0"],
            "argument --count: give a whole number, 1 or more",
        ),
    ],
)
def test_a_complaint_names_the_option_and_what_it_takes(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "path", "query"),
    [
        (
            EVERY_FILTER,
            "/v1/tasks",
            {
                "type": "echo",
                "status": "dead",
                "metadata.order": "17",
                "created_after": "A",
                "created_before": "B",
                "reason": "failed",
                "error_class": "KeyError",
                "dead_after": "C",
                "dead_before": "D",
                "limit": "5",
                "cursor": "E",
            },
        ),
        ("dead --cursor E", "/v1/tasks", {"status": "dead", "limit": "20", "cursor": "E"}),
        ("enqueued", "/v1/enqueued", {"state": "parked", "limit": "20"}),
        (
            "enqueued --waiting --limit 3 --cursor E",
            "/v1/enqueued",
            {"state": "waiting", "limit": "3", "cursor": "E"},
        ),
        ("endpoints --limit 3", "/v1/endpoints/disabled", {"limit": "3"}),
        (
            "quarantine --cursor E",
            "/v1/quarantine",
            {"discarded": "false", "limit": "20", "cursor": "E"},
        ),
        ("schedule list --cursor E", "/v1/schedules", {"limit": "100", "cursor": "E"}),
        ("get v1/tasks?limit=3", "/v1/tasks", {"limit": "3"}),
    ],
)
def test_a_list_is_asked_for_with_every_filter(arguments, path, query, stub):
    stub.answers(NOTHING)
    assert main(arguments.split()) == 0
    ((method, target, _),) = stub.requests
    asked = {name: value for name, (value,) in parse_qs(urlsplit(target).query).items()}
    assert (method, urlsplit(target).path, asked) == ("GET", path, query)


def test_a_page_that_is_not_the_last_says_how_to_go_on(stub, capsys):
    stub.answers({"tasks": [TASK], "next_cursor": "abc"})
    main(["list"])
    assert capsys.readouterr().err == "For more, repeat the command with --cursor abc\n"


def test_a_receiver_is_enabled(stub, capsys):
    stub.answers({"url": "https://hooks.example", "enabled": True})
    assert main(["endpoints", "--enable", "https://hooks.example/in"]) == 0
    assert stub.requests == [("POST", "/v1/endpoints/enable", {"url": "https://hooks.example/in"})]
    assert capsys.readouterr().out == "https://hooks.example is enabled again\n"


def test_what_an_application_enqueued_in_vain_is_shown_with_its_reason(stub, capsys):
    refused = {
        "task_id": "t7",
        "enqueued_at": "2026-11-06T21:20:00.000Z",
        "size": 17,
        "parked_at": "2026-11-06T21:20:01.000Z",
        "reason": "unknown_type",
        "detail": "there is no type 'eco'",
        "field": "/type",
    }
    stub.answers({"requests": [refused]})
    main(["enqueued"])
    assert "unknown_type: there is no type 'eco' (at /type)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "method", "path"),
    [
        ((), "GET", "/v1/enqueued?state=parked&limit=20"),
        (("--waiting",), "GET", "/v1/enqueued?state=waiting&limit=20"),
        (("--discarded",), "GET", "/v1/enqueued?state=discarded&limit=20"),
        (("--discard", "t7"), "POST", "/v1/enqueued/t7/discard"),
    ],
)
def test_requests_that_were_refused_are_listed_and_marked_as_handled(arguments, method, path, stub):
    stub.answers(
        {"requests": [], "task_id": "t7", "enqueued_at": "2026-11-06T21:20:00Z", "size": 1}
    )
    main(["enqueued", *arguments])
    assert [request[:2] for request in stub.requests] == [(method, path)]


def test_a_batch_goes_out_as_it_was_typed_and_tells_each_line(stub, tmp_path, capsys):
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"type": "echo", "payload": 1}\n\n{"type": "eco"}\n')
    problem = {"type": "unknown_type", "detail": "there is no type 'eco'"}
    results = [
        {"index": 0, "status": 202, "task": TASK},
        {"index": 1, "status": 422, "error": problem},
    ]
    stub.answers({"results": results, "accepted": 1, "refused": 1})

    assert main(["batch", str(file)]) == 2

    assert stub.requests[0][1] == "/v1/tasks/batch"
    assert stub.requests[0][2] == {"tasks": [{"type": "echo", "payload": 1}, {"type": "eco"}]}
    answer = capsys.readouterr()
    assert answer.out.splitlines()[1].split() == ["1", "t1", "queued"]
    assert "unknown_type: there is no type 'eco'" in answer.out
    assert answer.err == "1 accepted, 1 refused\n"


def test_a_long_file_is_cut_into_requests_that_the_api_takes(stub, tmp_path, capsys):
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"type": "echo"}\n' * 1_001)
    for size in (1_000, 1):
        results = [{"index": n, "status": 202, "task": TASK} for n in range(size)]
        stub.answers({"results": results, "accepted": size, "refused": 0})

    assert main(["batch", str(file), "--json"]) == 0

    assert [len(body["tasks"]) for _, _, body in stub.requests] == [1_000, 1]
    answer = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in answer["results"]] == list(range(1_001))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The file contains no task"),
        ("{}\n{x\n", "Task 2 of the file is not JSON"),
        ("[1]\n", "is not a JSON obj"),
    ],
)
def test_a_file_without_tasks_is_refused_before_anything_is_sent(text, sentence, tmp_path, capsys):
    file = tmp_path / "tasks.jsonl"
    file.write_text(text)
    assert main(["batch", str(file)]) == 2
    assert sentence in capsys.readouterr().err


@pytest.fixture
def large(tmp_path):
    file = tmp_path / "payload.json"
    file.write_text(json.dumps({"say": "é" * PAYLOAD_BYTES}))
    return file


def offer(stub, content, status=200):
    pointer = {"url": "s3://bucket/x", "size": len(content), "sha256": sha256(content).hexdigest()}
    checksum = base64.b64encode(sha256(content).digest()).decode()
    headers = {"Content-Length": str(len(content)), "x-amz-checksum-sha256": checksum}
    upload = {"method": "PUT", "url": f"{stub.url}/bucket/x?Signature=1", "headers": headers}
    stub.answers({"payload_ref": pointer, "upload": upload})
    stub.answers({}, status=status)
    return pointer


def test_a_payload_too_large_for_a_request_is_uploaded_before_it(stub, large):
    pointer = offer(stub, large.read_bytes())
    stub.answers(TASK)

    assert main(["submit", "echo", "--file", str(large), "--key", "k"]) == 0

    asked, put, submitted = stub.requests
    wanted = {"type": "echo", "size": pointer["size"], "sha256": pointer["sha256"]}
    assert asked == ("POST", "/v1/payloads", wanted)
    assert put == ("PUT", "/bucket/x?Signature=1", large.read_bytes())
    assert submitted[2] == {"type": "echo", "idempotency_key": "k", "payload_ref": pointer}


def test_an_upload_prints_what_a_task_says_instead_of_its_payload(stub, large, capsys):
    pointer = offer(stub, large.read_bytes())
    assert main(["upload", "echo", str(large)]) == 0
    assert json.loads(capsys.readouterr().out) == pointer


def test_a_bucket_that_refuses_is_named(stub, large, capsys):
    offer(stub, large.read_bytes(), status=403)
    assert main(["upload", "echo", str(large)]) == 3
    assert "refused the payload" in capsys.readouterr().err
