"""Checks store addresses: plaintext connections are allowed to this machine only."""

from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import parse_qs, unquote, urlsplit

SCRAM = "SCRAM-SHA-512"
KAFKA_SECURITY = ("PLAINTEXT", "SSL", SCRAM, "AWS_MSK_IAM")
"""Kafka's security protocols; SCRAM and IAM use TLS as well."""

_REDIRECTS = ("host", "hostaddr", "service", "servicefile", "port")
_VERIFIES = "verify-full"


def is_loopback(host: str) -> bool:
    """Return whether *host* is this machine; the only name that counts is localhost."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def kafka_complaints(brokers: str, security: str) -> Iterator[str]:
    if security not in KAFKA_SECURITY:
        yield f"TASKMILL_KAFKA_SECURITY must be one of {', '.join(KAFKA_SECURITY)}"
        return
    away = [host for host in kafka_hosts(brokers) if not is_loopback(host)]
    if security == "PLAINTEXT" and away:
        yield (
            f"TASKMILL_KAFKA_SECURITY is PLAINTEXT, which is not allowed for the remote host "
            f"{', '.join(away)}: set it to SSL, SCRAM-SHA-512 or AWS_MSK_IAM"
        )


def kafka_hosts(brokers: str) -> list[str]:
    return [_host(broker.strip()) for broker in brokers.split(",")]


def redis_complaints(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname:
        yield "TASKMILL_REDIS_URL must look like rediss://host:6379/0"
    elif parts.query:
        yield "TASKMILL_REDIS_URL must not have a query string"
    elif parts.scheme == "redis" and not is_loopback(parts.hostname):
        yield (
            f"TASKMILL_REDIS_URL is plaintext, which is not allowed for the remote host "
            f"{parts.hostname}: begin it with rediss://"
        )


def redis_host(url: str) -> str:
    return urlsplit(url).hostname or ""


def redis_user(url: str) -> str:
    return unquote(urlsplit(url).username or "")


def postgres_complaints(dsn: str) -> Iterator[str]:
    parts = urlsplit(dsn)
    if parts.scheme not in {"postgresql", "postgres"} or not all(postgres_hosts(dsn)):
        yield "TASKMILL_POSTGRES_DSN must look like postgresql://user@host:5432/database"
        return
    if dsn.count("@") != parts.netloc.count("@") or dsn.count("@") > 1 or "#" in dsn:
        yield "TASKMILL_POSTGRES_DSN contains an extra @ or #: percent-encode them in the password"
    options = parse_qs(parts.query, keep_blank_values=True)
    if bent := [name for name in _REDIRECTS if name in options]:
        yield f"TASKMILL_POSTGRES_DSN must name its host before the path, not with {bent[0]}="
    mode = options.get("sslmode", [_VERIFIES])
    away = [host for host in postgres_hosts(dsn) if not is_loopback(host)]
    if away and mode != [_VERIFIES]:
        yield (
            f"TASKMILL_POSTGRES_DSN sets sslmode={mode[0]}, which is not allowed for "
            f"the remote host {', '.join(away)}: use sslmode={_VERIFIES}, or omit it"
        )


def postgres_hosts(dsn: str) -> list[str]:
    places = urlsplit(dsn).netloc.rpartition("@")[2]
    return [_host(place) for place in places.split(",")]


def asks_to_verify(dsn: str) -> bool:
    return parse_qs(urlsplit(dsn).query).get("sslmode") == [_VERIFIES]


def _host(place: str) -> str:
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.partition(":")[0]
