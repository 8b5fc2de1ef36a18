"""Tells what the API is like: OpenAPI, assembled from the types that read its requests."""

from functools import cache
from http import HTTPStatus
from pathlib import Path

from aws_lambda_powertools.event_handler import Response, content_types

from functions.gateway.http.answer import Answer, new_router

router = new_router()


@router.get("/openapi.json")
def get_description() -> Answer:
    return Response(HTTPStatus.OK, content_types.APPLICATION_JSON, description())


@cache
def description() -> str:
    return Path(__file__).parents[1].joinpath("openapi.json").read_text()
