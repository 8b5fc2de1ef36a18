"""Stores keep their ports, unless these are taken or configured."""

import asyncio
import socket
from contextlib import contextmanager
from datetime import timedelta

import pytest

from taskmill_local.errors import StoreFailed
from taskmill_local.stores.home import prepare_home
from taskmill_local.stores.ports import free_ports, kept_ports, the_fixed_port
from taskmill_local.stores.start import External, Ports, Stores


@contextmanager
def somebody_at(port):
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        holder.listen()
        yield


@pytest.fixture
def note(tmp_path):
    return tmp_path / "kafka.ports"


def test_the_ports_of_the_last_start_are_taken_again(note):
    ports = kept_ports(note, 2, draw=free_ports)
    assert kept_ports(note, 2, draw=free_ports) == ports


def test_only_a_port_that_somebody_took_is_drawn_anew(note):
    first, second = kept_ports(note, 2, draw=free_ports)
    with somebody_at(first):
        drawn, kept = kept_ports(note, 2, draw=free_ports)
    assert drawn != first
    assert kept == second


def test_a_note_that_cannot_be_read_is_no_note(note):
    note.write_text("{half")
    assert len(kept_ports(note, 2, draw=free_ports)) == 2


def test_a_port_that_is_set_is_the_one_or_the_start_is_refused(note):
    (port,) = free_ports(1)
    assert kept_ports(note, 2, draw=free_ports, fixed=port)[0] == port
    with (
        somebody_at(port),
        pytest.raises(StoreFailed, match=f"TASKMILL_KAFKA_PORT is {port}, which another"),
    ):
        the_fixed_port("TASKMILL_KAFKA_PORT", port)


def test_a_store_starts_where_it_was_and_where_it_is_told(home):
    prepare_home(home)
    (answer,) = free_ports(1)
    elsewhere = External(kafka_brokers="127.0.0.1:1", postgres_dsn="postgresql://me@127.0.0.1/x")

    async def address(**settings):
        stores = Stores(home, external=elsewhere, durable=False, **settings)
        try:
            return (await stores.start(lambda *_: None)).redis_url
        finally:
            await stores.stop(timedelta(seconds=5))

    first, again, moved = (
        asyncio.run(address(**settings)) for settings in ({}, {}, {"ports": Ports(redis=answer)})
    )
    assert again == first
    assert moved == f"redis://127.0.0.1:{answer}/0"
