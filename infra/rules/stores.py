"""Checks that stores are encrypted, closed to strangers and protected from deletion."""

from collections.abc import Iterator, Mapping
from typing import Any

from infra.rules.template import TOPIC, Template

# (type, path of a property, required value)
_EXPECTED: tuple[tuple[str, str, Any], ...] = (
    ("AWS::MSK::Cluster", "ClientAuthentication.Sasl.Iam.Enabled", True),
    ("AWS::MSK::Cluster", "ClientAuthentication.Unauthenticated.Enabled", False),
    ("AWS::MSK::Cluster", "EncryptionInfo.EncryptionInTransit.ClientBroker", "TLS"),
    ("AWS::ElastiCache::User", "AuthenticationMode.Type", "iam"),
    ("AWS::RDS::DBCluster", "StorageEncrypted", True),
    ("AWS::RDS::DBCluster", "DeletionProtection", True),
    ("AWS::RDS::DBCluster", "ManageMasterUserPassword", True),
    ("AWS::RDS::DBClusterParameterGroup", "Parameters.log_error_verbosity", "terse"),
    ("AWS::RDS::DBInstance", "PubliclyAccessible", False),
    ("AWS::RDS::DBProxy", "RequireTLS", True),
    ("AWS::S3::Bucket", "PublicAccessBlockConfiguration.BlockPublicAcls", True),
    ("AWS::S3::Bucket", "PublicAccessBlockConfiguration.BlockPublicPolicy", True),
    ("AWS::S3::Bucket", "PublicAccessBlockConfiguration.IgnorePublicAcls", True),
    ("AWS::S3::Bucket", "PublicAccessBlockConfiguration.RestrictPublicBuckets", True),
)
_KEPT: Mapping[str, str] = {
    "AWS::MSK::Cluster": "Retain",
    "AWS::RDS::DBCluster": "Snapshot",
    "AWS::S3::Bucket": "Retain",
    TOPIC: "Retain",
}
_EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})


def stores_are_closed(template: Template) -> Iterator[str]:
    for kind, path, expected in _EXPECTED:
        for name, properties in template.of(kind):
            if (value := _at(properties, path)) != expected:
                yield f"{name} has {path} {value!r}, not {expected!r}"


def what_holds_tasks_is_kept(template: Template) -> Iterator[str]:
    for name, resource in template.resources.items():
        policy = _KEPT.get(resource["Type"])
        for when in ("DeletionPolicy", "UpdateReplacePolicy"):
            if policy is not None and resource.get(when) != policy:
                yield f"{name} has {when} {resource.get(when)!r}, not {policy!r}"


def nobody_comes_in_from_everywhere(template: Template) -> Iterator[str]:
    for name, group in template.of("AWS::EC2::SecurityGroup"):
        for rule in group.get("SecurityGroupIngress") or ():
            if _EVERYWHERE & {rule.get("CidrIp"), rule.get("CidrIpv6")}:
                yield f"{name} is open to everybody"


def _at(properties: Mapping[str, Any], path: str) -> Any:
    value: Any = properties
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
