"""Rejects requests sent by webhook tasks, which could loop for ever."""

from http import HTTPStatus

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.gateway.http.problem import Problem
from taskmill.egress.wall import DEPTH_HEADER


def loop(event: APIGatewayProxyEventV2) -> Problem | None:
    if DEPTH_HEADER not in event.headers:
        return None
    detail = "a webhook task must not call the API of a queue: it could loop for ever"
    return Problem(HTTPStatus.FORBIDDEN, "forbidden", detail)
