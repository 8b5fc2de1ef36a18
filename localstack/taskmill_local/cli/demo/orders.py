"""The demo's shop: enqueues in two transactions, one committed and one rolled back."""

import time
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import psycopg

from taskmill.sql import enqueue
from taskmill_local.cli.api import Api
from taskmill_local.cli.demo.story import StoryBroken

_GLANCE_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Orders:
    """The ids that the shop got before it committed one order and rolled back the other."""

    committed: str
    rolled_back: str


def place_orders(api: Api) -> Orders:
    app = api.platform().body["stores"]["PostgreSQL"]["address"]
    dsn = app.replace("taskmill_app@", "taskmill_owner@")
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        connection.execute("CREATE TABLE orders (id integer PRIMARY KEY)")
        with connection.transaction():
            order = _place(connection, 17)
        with connection.transaction(force_rollback=True):
            gone = _place(connection, 18)
        orders = connection.execute("SELECT array_agg(id) FROM orders").fetchone()
    if orders != ([17],):
        raise StoryBroken(f"The shop's own orders are {orders}, and should be only 17.")
    return Orders(committed=order, rolled_back=gone)


def _place(connection: psycopg.Connection[tuple[object, ...]], number: int) -> str:
    connection.execute("INSERT INTO orders (id) VALUES (%s)", (number,))
    return enqueue(connection, "echo", {"say": f"order {number}"})


def orders_arrived(api: Api, orders: Orders, deadline: float) -> str:
    """Return a sentence about the order that became a task and the one that did not."""
    while (answer := api.task(orders.committed)).body.get("status") != "succeeded":
        if time.monotonic() > deadline:
            raise StoryBroken(f"The committed order's task did not end: {answer.body}")
        time.sleep(_GLANCE_SECONDS)
    # A 503 only means that the ledger has not read the whole log yet.
    while (answer := api.task(orders.rolled_back)).status != HTTPStatus.NOT_FOUND:
        if answer.status != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
            raise StoryBroken(f"The order that was rolled back has a task: {answer.body}")
        time.sleep(_GLANCE_SECONDS)
    return (
        "A transaction that committed an order made its task, with "
        "taskmill.enqueue; one that was rolled back made none"
    )
