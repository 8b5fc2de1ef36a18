"""What the roles may allow: named actions on things of ours, each role for one function."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.rules.template import (
    FUNCTION,
    MANAGED_POLICY,
    ROLE,
    Template,
    as_list,
    is_worker,
    target,
    text_of,
)

# Actions that know no narrower resource than all.
_UNSCOPED = frozenset({"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"})
# Policies of AWS itself; this one holds nothing but the network interfaces of a function.
_FOREIGN = ("AWSLambdaENIManagementAccess",)
# The families of names that grow with the folders: the topics of the types, and their readers.
_FAMILIES = re.compile(r"/(tasks\.worker\.|taskmill-worker-|(payloads|results)/([a-z0-9_]+/)?)\*$")
_STORES = {
    "kafka-cluster": "Kafka",
    "elasticache": "Redis",
    "s3": "S3",
    "secretsmanager": "secrets",
}
# The design's table of who may talk to what; a worker may have more, for its handler.
_MAY_TALK_TO: Mapping[str, frozenset[str]] = {
    "Gateway": frozenset({"Kafka", "Redis", "S3", "secrets"}),
    "Inbox": frozenset({"Kafka", "Redis", "S3"}),
    "Dispatcher": frozenset({"Kafka", "Redis"}),
    "Recorder": frozenset({"Kafka", "secrets"}),
    "Scheduler": frozenset({"Kafka", "Redis", "S3", "secrets"}),
}
_A_WORKER_TALKS_TO = frozenset({"Kafka", "Redis", "S3"})


def documents(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, role in template.of(ROLE):
        for policy in role.get("Policies") or ():
            yield name, policy["PolicyDocument"]
    for name, policy in template.of(MANAGED_POLICY):
        yield name, policy["PolicyDocument"]


def statements(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, document in documents(template):
        for statement in as_list(document["Statement"]):
            yield name, statement


def actions_are_named(template: Template) -> Iterator[str]:
    for name, statement in statements(template):
        if "NotAction" in statement:
            yield f"{name} allows all but some actions; name those that are needed"
        for action in as_list(statement.get("Action", [])):
            if "*" in action:
                yield f"{name} allows {action}; name the actions that are needed"


def resources_are_ours(template: Template) -> Iterator[str]:
    for name, statement in statements(template):
        if "NotResource" in statement:
            yield f"{name} allows all but some resources; name those that are needed"
        if _UNSCOPED.issuperset(as_list(statement.get("Action", []))):
            continue
        for resource in as_list(statement.get("Resource", [])):
            if "*" in _FAMILIES.sub("", text_of(resource)):
                yield f"{name} reaches {text_of(resource)}; name what is ours"


def each_function_has_its_own_role(template: Template) -> Iterator[str]:
    users: dict[str, str] = {}
    for name, function in template.of(FUNCTION):
        role = target(function.get("Role"))
        if role is None or not template.is_a(role, ROLE):
            yield f"{name} has no role of this template"
        elif role in users:
            yield f"{name} shares {role} with {users[role]}; give it a role of its own"
        else:
            users[role] = name


def roles_take_no_foreign_policies(template: Template) -> Iterator[str]:
    for name, role in template.of(ROLE):
        for policy in role.get("ManagedPolicyArns") or ():
            if template.is_a(target(policy), MANAGED_POLICY):
                continue
            if not text_of(policy).endswith(_FOREIGN):
                yield f"{name} takes {text_of(policy)}, which we do not write"


def only_services_assume_roles(template: Template) -> Iterator[str]:
    for name, role in template.of(ROLE):
        for statement in as_list(role["AssumeRolePolicyDocument"]["Statement"]):
            principal = statement.get("Principal")
            if not isinstance(principal, dict) or principal.keys() != {"Service"}:
                yield f"{name} can be taken by {principal}; only a service of AWS may take it"


def functions_talk_only_to_their_stores(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        stores = set(_stores(template, target(function.get("Role"))))
        if is_worker(function):
            missing, more = _A_WORKER_TALKS_TO - stores, set[str]()
        elif name in _MAY_TALK_TO:
            missing, more = _MAY_TALK_TO[name] - stores, stores - _MAY_TALK_TO[name]
        else:
            continue
        for store in sorted(missing):
            yield f"{name} may not talk to {store}, but must"
        for store in sorted(more):
            yield f"{name} may talk to {store}, but has no business there"


def workers_keep_to_their_own_objects(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        if not is_worker(function):
            continue
        own = str(function["Handler"]).removeprefix("functions.workers.").split(".")[0]
        allowed = {"s3:GetObject": f"/payloads/{own}/*", "s3:PutObject": f"/results/{own}/*"}
        for action, resource in _objects(template, target(function.get("Role"))):
            if not text_of(resource).endswith(allowed.get(action, "/")):
                yield f"{name} may {action} {text_of(resource)}, which is not its own"


def _objects(template: Template, role: str | None) -> Iterator[tuple[str, Any]]:
    for name, statement in statements(template):
        for action in as_list(statement.get("Action", [])):
            if name == role and str(action).startswith("s3:"):
                for resource in as_list(statement.get("Resource", [])):
                    yield str(action), resource


def _stores(template: Template, role: str | None) -> Iterator[str]:
    managed = {target(arn) for arn in template.properties(role).get("ManagedPolicyArns") or ()}
    for name, statement in statements(template):
        if name == role or name in managed:
            for action in as_list(statement.get("Action", [])):
                service = str(action).split(":", maxsplit=1)[0]
                if service in _STORES:
                    yield _STORES[service]
