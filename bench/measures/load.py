"""The tasks that every measurement submits."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from bench.system import System

BATCH: Final = 1_000
PAYLOAD_BYTES: Final = 500
_CONNECTIONS: Final = 2


def a_task() -> dict[str, Any]:
    return {"type": "echo", "payload": {"say": "x" * (PAYLOAD_BYTES - len('{"say":""}'))}}


def submit(system: System, tasks: int) -> None:
    """Submit in full batches over two connections."""
    if tasks % BATCH:
        raise ValueError(f"{tasks} is not a multiple of {BATCH}")
    batches = tasks // BATCH
    shares = [batches // _CONNECTIONS + (n < batches % _CONNECTIONS) for n in range(_CONNECTIONS)]
    with ThreadPoolExecutor(_CONNECTIONS) as senders:
        list(senders.map(lambda share: _send(system, share), shares))


def _send(system: System, times: int) -> None:
    client = system.client()
    request = client.request("POST", "/v1/tasks/batch", {"tasks": [a_task()] * BATCH})
    for _ in range(times):
        client.exchange(request)
    client.close()
