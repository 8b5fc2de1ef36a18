"""Turns away what webhooks send: tasks that make tasks over HTTP would go round for ever."""

from http import HTTPStatus

from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from functions.gateway.http.problem import Problem
from taskmill.egress.wall import DEPTH_HEADER


def loop(event: APIGatewayProxyEventV2) -> Problem | None:
    if DEPTH_HEADER not in event.headers:
        return None
    detail = "a webhook of a task may not call the door of a queue: it could go round for ever"
    return Problem(HTTPStatus.FORBIDDEN, "forbidden", detail)
