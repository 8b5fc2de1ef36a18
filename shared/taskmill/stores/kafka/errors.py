"""Messages for the errors of brokers."""

from collections.abc import Iterator
from contextlib import contextmanager

from taskmill.stores import tls

STORE = "Kafka"

_SENTENCES = {
    3: "the topic or partition does not exist",
    10: "the record is larger than the topic allows",
    18: "the batch is larger than a segment of the log",
    17: "the topic's name is not valid",
    19: "too few replicas are in sync",
    29: "access to the topic is denied",
    31: "access to the cluster is denied",
    53: "access to this producer's id is denied",
}

_TOO_LARGE = frozenset({10, 18})


class KafkaFailure(Exception):
    """The broker was reached but did not do what was requested."""


class TooLarge(KafkaFailure):
    """The broker will never take this record."""


class LoginRefused(KafkaFailure):
    """The broker refuses the login; the secret may have been rotated."""


def failure_of(code: int) -> KafkaFailure:
    kind = TooLarge if code in _TOO_LARGE else KafkaFailure
    return kind(sentence_for(code))


def sentence_for(code: int) -> str:
    return _SENTENCES.get(code, f"the broker answered with error {code}")


def is_refusal(error: Exception) -> bool:
    return isinstance(error, LoginRefused)


@contextmanager
def timeouts_as(failure: Exception | None) -> Iterator[None]:
    """Raise the broker's previous error when the time is over before its next response."""
    try:
        yield
    except TimeoutError:
        if failure is None:
            raise
        raise failure from None


def why(error: Exception) -> str:
    return tls.why(error, setting="TASKMILL_KAFKA_CA_FILE")
