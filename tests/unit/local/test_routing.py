"""A request uses its most specific route."""

import pytest

from taskmill_local.front.routing import Router
from taskmill_local.plan import RoutePlan

ROUTES = [
    ("ANY", "/{proxy+}"),
    ("ANY", "/tasks/{id}"),
    ("GET", "/tasks/{id}"),
    ("GET", "/tasks/all"),
    ("GET", "/tasks/{id}/attempts/{number}"),
    ("GET", "/tasks/{proxy+}"),
    ("POST", "/tasks"),
    ("GET", "/a.b"),
]


def router(*routes: tuple[str, str]) -> Router:
    return Router([RoutePlan(method=method, path=path, function="F") for method, path in routes])


@pytest.mark.parametrize(
    ("method", "path", "route_key", "parameters"),
    [
        ("POST", "/tasks", "POST /tasks", {}),
        ("GET", "/tasks/all", "GET /tasks/all", {}),
        ("GET", "/tasks/7", "GET /tasks/{id}", {"id": "7"}),
        ("DELETE", "/tasks/7", "ANY /tasks/{id}", {"id": "7"}),
        ("DELETE", "/tasks/all", "ANY /tasks/{id}", {"id": "all"}),
        ("GET", "/tasks/a%2Fb", "GET /tasks/{id}", {"id": "a/b"}),
        ("GET", "/tasks/%C3%A9+", "GET /tasks/{id}", {"id": "é+"}),
        (
            "GET",
            "/tasks/7/attempts/2",
            "GET /tasks/{id}/attempts/{number}",
            {"id": "7", "number": "2"},
        ),
        ("GET", "/tasks/7/else", "GET /tasks/{proxy+}", {"proxy": "7/else"}),
        ("GET", "/tasks", "ANY /{proxy+}", {"proxy": "tasks"}),
        ("GET", "/tasks/", "ANY /{proxy+}", {"proxy": "tasks/"}),
        ("GET", "/axb", "ANY /{proxy+}", {"proxy": "axb"}),
    ],
)
def test_the_most_exact_route_wins(method, path, route_key, parameters):
    for routes in (ROUTES, ROUTES[::-1]):
        match = router(*routes).match(method, path)
        assert match is not None
        assert (match.route_key, match.parameters) == (route_key, parameters)


def test_the_default_route_takes_what_is_left():
    match = router(("ANY", "$default"), ("POST", "/tasks")).match("PUT", "/anything")
    assert match is not None
    assert match.route_key == "$default"


def test_without_a_route_nothing_matches():
    assert router(("POST", "/tasks")).match("GET", "/tasks") is None
    assert router(("GET", "/tasks/{id}")).match("GET", "/tasks/") is None
