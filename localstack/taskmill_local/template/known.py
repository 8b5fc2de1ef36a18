"""Tables of the resource types and properties that the platform supports."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Properties of a resource type that are supported, and those that have no effect here."""

    obeyed: frozenset[str]
    ignored: frozenset[str] = field(default_factory=frozenset)

    def __contains__(self, name: str) -> bool:
        return name in self.obeyed or name in self.ignored


FUNCTION = "AWS::Lambda::Function"
API = "AWS::ApiGatewayV2::Api"
STAGE = "AWS::ApiGatewayV2::Stage"
MAPPING = "AWS::Lambda::EventSourceMapping"
RULE = "AWS::Events::Rule"
BUCKET = "AWS::S3::Bucket"
SECRET = "AWS::SecretsManager::Secret"  # noqa: S105 - a resource type

PROPERTIES: Mapping[str, Known] = {
    FUNCTION: Known(
        obeyed=frozenset(
            {
                "Environment",
                "Handler",
                "MemorySize",
                "PackageType",
                "ReservedConcurrentExecutions",
                "Runtime",
                "Timeout",
            }
        ),
        ignored=frozenset(
            {
                "Architectures",
                "Code",
                "Description",
                "FunctionName",
                "KmsKeyArn",
                "Layers",
                "LoggingConfig",
                "RecursiveLoop",
                "Role",
                "Tags",
                "TracingConfig",
                "VpcConfig",
            }
        ),
    ),
    API: Known(
        obeyed=frozenset({"Body"}),
        ignored=frozenset({"Description", "FailOnWarnings", "Name", "Tags"}),
    ),
    STAGE: Known(
        obeyed=frozenset({"StageName"}),
        ignored=frozenset(
            {
                "AccessLogSettings",
                "ApiId",
                "AutoDeploy",
                "DefaultRouteSettings",
                "Description",
                "RouteSettings",
                "Tags",
            }
        ),
    ),
    MAPPING: Known(
        obeyed=frozenset(
            {
                "AmazonManagedKafkaEventSourceConfig",
                "BatchSize",
                "Enabled",
                "EventSourceArn",
                "FunctionName",
                "FunctionResponseTypes",
                "MaximumBatchingWindowInSeconds",
                "MaximumRecordAgeInSeconds",
                "MaximumRetryAttempts",
                "ProvisionedPollerConfig",
                "SelfManagedKafkaEventSourceConfig",
                "StartingPosition",
                "Topics",
            }
        ),
        ignored=frozenset(
            {
                "KmsKeyArn",
                "LoggingConfig",
                "MetricsConfig",
                "SelfManagedEventSource",
                "SourceAccessConfigurations",
                "Tags",
            }
        ),
    ),
    RULE: Known(
        obeyed=frozenset({"ScheduleExpression", "State", "Targets"}),
        ignored=frozenset({"Description", "Name", "Tags"}),
    ),
}

# Resources that a deployment needs and that have no effect on one machine.
NOT_NEEDED_HERE = frozenset(
    {
        "AWS::CloudFormation::Stack",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::EC2::SecurityGroup",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::MSK::Topic",
        BUCKET,
        "AWS::S3::BucketPolicy",
        "AWS::SNS::Subscription",
        "AWS::SNS::Topic",
        SECRET,
    }
)
