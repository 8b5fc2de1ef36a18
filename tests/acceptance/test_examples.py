"""A running system answers every example of the API description as described."""

import json

import pytest

from tests.acceptance.examples import Play, alike, all_examples
from tests.unit.gateway import described

EXAMPLES = all_examples()


@pytest.fixture(scope="module")
def play(stack):
    play = Play(stack.client)
    try:
        play.prepare()
        yield play
    finally:
        play.close()


@pytest.fixture(scope="module")
def answers(play):
    """Send all of them once, in order: one may need the objects of an earlier one."""
    return {
        (route, name): play.send(route, name, described.operations()[route])
        for route, name, _ in EXAMPLES
    }


def test_the_running_system_serves_the_description(client):
    assert client.get("/openapi.json").body == described.DOCUMENT


@pytest.mark.parametrize(("route", "name", "status"), EXAMPLES)
def test_an_example_is_answered_as_the_description_says(play, answers, route, name, status):
    answer = answers[route, name]
    assert answer.status == status, answer.text
    headers = {part.title(): value for part, value in answer.headers.items()}
    method, path = route.split(" ")
    described.check(method, path, status, headers, answer.text)
    media = answer.headers["content-type"]
    response = described.response(route, status)
    shown = response["content"][media]["examples"][name]["value"]
    found = play.answer_as_in_the_document(answer)
    assert alike(shown, found), f"{json.dumps(shown)}\n{json.dumps(found)}"


@pytest.mark.parametrize(
    ("shown", "answer"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {}),
        ({"a": "x"}, {"a": "y"}),
        ({"a": True}, {"a": 1}),
        ([{"a": "x"}], [{"a": "y"}]),
        ("019f4a6b-1c2d-7e3f-8a4b-5c6d7e8f9a0b", "17"),
    ],
)
def test_what_differs_is_not_alike(shown, answer):
    assert not alike(shown, answer)
