"""Checks the limits, log and network of each function, and that the template holds no secret."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.rules.template import (
    FUNCTION,
    LOG_GROUP,
    PASSWORD_IN_URL,
    SECRET,
    Template,
    environment_of,
    is_ours,
    is_worker,
    literals,
    target,
    text_of,
)
from taskmill.settings.known import misspelt

_LONGEST_BEHIND_KAFKA = 840  # a Kafka mapping accepts no function with a longer timeout
_LONGEST_BEHIND_HTTP = 30
_MOST_MEMORY = 3_008  # the default quota of a new account
_EXPECTED: Mapping[str, Any] = {"Runtime": "python3.13", "Architectures": ["arm64"]}
_SAYS_SECRET = re.compile(r"PASSWORD|TOKEN|SECRET|API_KEY")
_PATHS_OF_SECRETS = ("MasterUserPassword", "Passwords", "AuthToken")
_EMPTY = "{}"
_OUTWARD = "Outward"


def functions_name_their_limits(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        for limit in ("Timeout", "MemorySize"):
            if not isinstance(function.get(limit), int):
                yield f"{name} has no {limit}"
        if is_ours(function) and not isinstance(function.get("ReservedConcurrentExecutions"), int):
            yield f"{name} has no ReservedConcurrentExecutions; it could starve the others"
        if function.get("MemorySize", 0) > _MOST_MEMORY:
            yield f"{name} uses more memory than the {_MOST_MEMORY} MB that every account allows"
        for what, expected in _EXPECTED.items():
            if function.get(what) != expected:
                yield f"{name} has {what} {function.get(what)!r}, not {expected!r}"


def time_outs_fit_their_triggers(template: Template) -> Iterator[str]:
    targets = template.mapped()
    for name, function in template.of(FUNCTION):
        time_out = function.get("Timeout", 0)
        if name in targets and time_out > _LONGEST_BEHIND_KAFKA:
            yield f"{name} has {time_out} s; a Kafka mapping takes at most {_LONGEST_BEHIND_KAFKA}"
        if name == "Gateway" and time_out > _LONGEST_BEHIND_HTTP:
            yield f"{name} has {time_out} s; the HTTP API waits for {_LONGEST_BEHIND_HTTP}"


def functions_stay_in_the_network(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        vpc = function.get("VpcConfig") or {}
        if is_ours(function) and not (vpc.get("SubnetIds") and vpc.get("SecurityGroupIds")):
            yield f"{name} is not in the network of the stores"


def only_workers_go_out(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        subnets = text_of((function.get("VpcConfig") or {}).get("SubnetIds"))
        if _OUTWARD in subnets and not is_worker(function):
            yield f"{name} has Internet access but does not need it"


def logs_end(template: Template) -> Iterator[str]:
    for name, group in template.of(LOG_GROUP):
        if not group.get("RetentionInDays"):
            yield f"{name} keeps its logs forever; set RetentionInDays"
    for name, function in template.of(FUNCTION):
        own = target((function.get("LoggingConfig") or {}).get("LogGroup"))
        if not template.is_a(own, LOG_GROUP):
            yield f"{name} logs into a group outside this template, which keeps logs forever"


def the_api_is_not_open(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        keys = environment_of(function).get("TASKMILL_API_KEYS_SECRET")
        if name == "Gateway" and not template.is_a(target(keys), SECRET):
            yield f"{name} has no secret with API keys: it would be open, or would not start"


def secrets_are_not_in_the_open(template: Template) -> Iterator[str]:
    hidden = {name for name, one in template.parameters.items() if one.get("NoEcho")}
    for name, function in template.of(FUNCTION):
        for variable, value in environment_of(function).items():
            if target(value) in hidden:
                yield f"{name}: {variable} exposes the hidden parameter {target(value)}"
            if _SAYS_SECRET.search(variable) and isinstance(value, str) and value:
                yield f"{name}: {variable} is a literal; reference a secret"
            if any("{{resolve:" in text for text in literals(value)):
                yield f"{name}: {variable} exposes the value of a secret"
    for name, secret in template.of(SECRET):
        if secret.get("SecretString", _EMPTY) != _EMPTY:
            yield f"{name} has its value in the template; generate it instead"


def variables_are_known(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        for complaint in misspelt(environment_of(function)):
            yield f"{name}: {complaint}"


def passwords_are_nowhere(template: Template) -> Iterator[str]:
    for name, resource in template.resources.items():
        properties = resource.get("Properties") or {}
        for path in _PATHS_OF_SECRETS:
            if path in properties:
                yield f"{name} has {path} in the template"
        if any(PASSWORD_IN_URL.search(text) for text in literals(properties)):
            yield f"{name} has a URL with a password"
