"""Secure connections of Kafka clients, with the cause of any failure."""

import time
from collections.abc import Mapping
from typing import Any

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.compat import KafkaNetClient

from taskmill.settings.access import KafkaAccess
from taskmill.settings.addresses import SCRAM
from taskmill.stores import tls

API_VERSION = (3, 9)
_SECONDS_TO_CONNECT = 4.0
_SECONDS_FOR_ONE_BROKER = 2.0
_HUNG_UP = "socket disconnected"
_PROTOCOLS: Mapping[str, dict[str, str]] = {
    "PLAINTEXT": {},
    "SSL": {"security_protocol": "SSL"},
    SCRAM: {"security_protocol": "SASL_SSL", "sasl_mechanism": SCRAM},
    "AWS_MSK_IAM": {"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"},
}


def client_settings(access: KafkaAccess) -> dict[str, Any]:
    """Return the connection settings of a producer or consumer."""
    settings: dict[str, Any] = {"bootstrap_servers": access.brokers}
    if access.security == "PLAINTEXT":
        return settings
    settings |= _PROTOCOLS[access.security]
    settings |= {"ssl_cafile": access.ca_file or None, "kafka_client": _connected}
    if access.security == SCRAM:
        settings["sasl_plain_username"] = access.credentials.username
        settings["sasl_plain_password"] = access.credentials.password
    return settings


def is_refusal(error: Exception) -> bool:
    return isinstance(error, SaslAuthenticationFailedError)


def why(error: Exception) -> str:
    return tls.why(error, setting="TASKMILL_KAFKA_CA_FILE")


def _connected(**settings: Any) -> KafkaNetClient:
    """Return a client that is connected to one of the brokers.

    By itself it would retry forever, and report a refusal only as a timeout.
    """
    client = KafkaNetClient(**settings)
    manager = client._manager  # noqa: SLF001 - nothing public opens a single connection
    failure: Exception = KafkaConnectionError("no broker is configured")
    deadline = time.monotonic() + _SECONDS_TO_CONNECT
    for broker in manager.cluster.bootstrap_brokers():
        seconds = min(_SECONDS_FOR_ONE_BROKER, deadline - time.monotonic())
        if seconds <= 0:
            break
        try:
            manager.run(_connect, manager, broker.node_id, seconds * 1000)
        except Exception as error:  # noqa: BLE001 - a credentials library may raise anything
            failure = _unmasked(error, settings)
        else:
            return client
    client.close()
    raise failure


def _unmasked(error: Exception, settings: Mapping[str, Any]) -> Exception:
    """Distinguish a refused login from a lost connection.

    A broker hangs up after a refusal, and kafka-python discards the data that arrives with it.
    """
    if settings["sasl_mechanism"] is None or _HUNG_UP not in str(error):
        return error
    refused: Exception = SaslAuthenticationFailedError(
        f"the broker hung up during login by {settings['sasl_mechanism']}: "
        "it does not accept the user, the password or the mechanism"
    )
    return refused


async def _connect(manager: Any, node: Any, in_ms: float) -> None:
    connection = manager.get_connection(node, timeout_ms=in_ms, refresh_metadata_on_err=False)
    await manager.wait_for(connection.init_future, in_ms)
