"""Checks that roles allow only named actions on our own resources, one role for each function."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.rules.template import (
    FUNCTION,
    MANAGED_POLICY,
    PERMISSION,
    POLICY,
    ROLE,
    Template,
    as_list,
    environment_of,
    is_ours,
    is_worker,
    references,
    target,
    text_of,
    worker_of,
)

# Actions that accept no narrower resource than "*".
_UNSCOPED = frozenset({"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"})
# AWS managed policies; this one covers only the network interfaces of a function.
_FOREIGN = ("AWSLambdaENIManagementAccess",)
# Names that grow with the folders: the topics of the types and their consumer groups.
_FAMILIES = re.compile(r"/(tasks\.worker\.|taskmill-worker-|(payloads|results)/([a-z0-9_]+/)?)\*$")
_STORES = {
    "kafka-cluster": "Kafka",
    "elasticache": "Redis",
    "s3": "S3",
    "secretsmanager": "secrets",
}
# Which function may use which store, from the design; a worker's handler may need more.
_MAY_TALK_TO: Mapping[str, frozenset[str]] = {
    "Gateway": frozenset({"Kafka", "Redis", "S3", "secrets"}),
    "Inbox": frozenset({"Kafka", "Redis", "S3"}),
    "Dispatcher": frozenset({"Kafka", "Redis"}),
    "Recorder": frozenset({"Kafka", "secrets"}),
    "Scheduler": frozenset({"Kafka", "Redis", "S3", "secrets"}),
}
_OF_AWS = ".amazonaws.com"
_A_WORKER_TALKS_TO = frozenset({"Kafka", "Redis", "S3"})


def documents(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every policy document, whatever kind of resource holds it.

    Trust policies are separate: `only_services_assume_roles` checks them.
    """
    for name, resource in template.resources.items():
        for document in _documents_in(resource.get("Properties")):
            yield name, document


def _documents_in(value: Any) -> Iterator[Mapping[str, Any]]:
    match value:
        case dict():
            for key, inner in value.items():
                if key == "PolicyDocument":
                    yield inner
                else:
                    yield from _documents_in(inner)
        case list():
            for inner in value:
                yield from _documents_in(inner)
        case _:  # numbers and the like hold no document
            return


def statements(template: Template) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the statements that allow something; a denial may be as broad as it likes."""
    for name, document in documents(template):
        for statement in as_list(document["Statement"]):
            if statement.get("Effect") != "Deny":
                yield name, statement


def statements_for(template: Template, role: str | None) -> Iterator[Mapping[str, Any]]:
    """Yield what a role is allowed by its own policies and by all attached ones."""
    policies = {target(arn) for arn in template.properties(role).get("ManagedPolicyArns") or ()}
    for kind in (MANAGED_POLICY, POLICY):
        for name, policy in template.of(kind):
            if role in map(target, policy.get("Roles") or ()):
                policies.add(name)
    for name, statement in statements(template):
        if role is not None and (name == role or name in policies):
            yield statement


def actions_are_named(template: Template) -> Iterator[str]:
    for name, statement in statements(template):
        if "NotAction" in statement:
            yield f"{name} allows all but some actions; list the actions that are needed"
        for action in as_list(statement.get("Action", [])):
            if "*" in action:
                yield f"{name} allows {action}; list the actions that are needed"


def resources_are_ours(template: Template) -> Iterator[str]:
    for name, statement in statements(template):
        if "NotResource" in statement:
            yield f"{name} allows all but some resources; list the resources that are needed"
        if _UNSCOPED.issuperset(as_list(statement.get("Action", []))):
            continue
        for resource in as_list(statement.get("Resource", [])):
            if "*" in _FAMILIES.sub("", text_of(resource)):
                yield f"{name} reaches {text_of(resource)}; narrow it to our own resources"


def nobody_else_is_let_in(template: Template) -> Iterator[str]:
    """Check resource policies: without a condition they would admit the whole world."""
    for name, statement in statements(template):
        if "NotPrincipal" in statement:
            yield f"{name} admits all but some principals; list the allowed ones"
        if "Principal" not in statement or _is_service(statement["Principal"]):
            continue
        conditions = statement.get("Condition") or {}
        account = (conditions.get("StringEquals") or {}).get("aws:PrincipalAccount")
        if target(account) != "AWS::AccountId":
            yield f"{name} admits {statement['Principal']}; admit only our own account"


def functions_are_called_by_what_we_made(template: Template) -> Iterator[str]:
    for name, permission in template.of(PERMISSION):
        if permission.get("Action") != "lambda:InvokeFunction":
            yield f"{name} allows {permission.get('Action')}; only invoking is needed"
        if not str(permission.get("Principal")).endswith(_OF_AWS):
            yield f"{name} lets {permission.get('Principal')} invoke it; only an AWS service may"
        if not _names_ours(permission.get("SourceArn")):
            yield f"{name} lets that service invoke it for anybody; set our SourceArn"


def _is_service(principal: Any) -> bool:
    return isinstance(principal, dict) and principal.keys() == {"Service"}


def _names_ours(source: Any) -> bool:
    return target(source) is not None or "${AWS::AccountId}" in text_of(source)


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
                yield f"{name} attaches {text_of(policy)}, which is not one of our policies"


def only_services_assume_roles(template: Template) -> Iterator[str]:
    for name, role in template.of(ROLE):
        for statement in as_list(role["AssumeRolePolicyDocument"]["Statement"]):
            if not _is_service(statement.get("Principal")):
                principal = statement.get("Principal")
                yield f"{name} can be assumed by {principal}; only an AWS service may assume it"


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
            yield f"{name} may not use {store}, but must"
        for store in sorted(more):
            yield f"{name} may use {store}, but does not need to"


def workers_keep_to_their_own_objects(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        own = worker_of(function)
        if own is None:
            continue
        allowed = {"s3:GetObject": f"/payloads/{own}/*", "s3:PutObject": f"/results/{own}/*"}
        for action, resource in _objects(template, target(function.get("Role"))):
            if not text_of(resource).endswith(allowed.get(action, "/")):
                yield f"{name} may {action} {text_of(resource)}, which is not its own resource"


def functions_read_the_secrets_that_they_are_told_of(template: Template) -> Iterator[str]:
    for name, function in template.of(FUNCTION):
        if not is_ours(function):
            continue
        readable = set(_readable_secrets(template, target(function.get("Role"))))
        secrets = {
            variable: set(references(value))
            for variable, value in environment_of(function).items()
            if variable.endswith("_SECRET")
        }
        for variable, names in secrets.items():
            if not names & readable:
                yield f"{name} may not read the secret of {variable}, but must"
        for secret in sorted(readable.difference(*secrets.values())):
            yield f"{name} may read {secret}, which none of its variables names"


def _readable_secrets(template: Template, role: str | None) -> Iterator[str]:
    for statement in statements_for(template, role):
        if "secretsmanager:GetSecretValue" in as_list(statement.get("Action", [])):
            yield from references(statement.get("Resource"))


def _objects(template: Template, role: str | None) -> Iterator[tuple[str, Any]]:
    for statement in statements_for(template, role):
        for action in as_list(statement.get("Action", [])):
            if str(action).startswith("s3:"):
                for resource in as_list(statement.get("Resource", [])):
                    yield str(action), resource


def _stores(template: Template, role: str | None) -> Iterator[str]:
    for statement in statements_for(template, role):
        for action in as_list(statement.get("Action", [])):
            service = str(action).split(":", maxsplit=1)[0]
            if service in _STORES:
                yield _STORES[service]
