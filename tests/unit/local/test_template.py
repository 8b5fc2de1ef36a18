"""A template becomes a plan, or is refused with all its problems."""

from datetime import timedelta
from pathlib import Path
from textwrap import indent

import pytest

from taskmill_local.plan import FunctionPlan, MappingPlan, Plan, RoutePlan, RulePlan, fitted
from taskmill_local.template.read import read_plan
from taskmill_local.template.refusal import TemplateRefused

ROOT = Path("/the/repository")

BASE = """
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Parameters:
  Stage: {Type: String, Default: local, AllowedValues: [local, live]}
  KafkaBrokers: {Type: CommaDelimitedList}
  Shards: {Type: Number, Default: 16}
  Subnets: {Type: CommaDelimitedList, Default: ""}
Conditions:
  Deployed: !Not [!Equals [!Ref Stage, local]]
  Local: !Not [!Condition Deployed]
Globals:
  Function:
    Runtime: python3.13
    Architectures: [arm64]
    MemorySize: 256
    Timeout: 30
    Layers: [!Ref TaskmillLayer]
    VpcConfig: !If [Deployed, {SubnetIds: !Ref Subnets}, !Ref AWS::NoValue]
    Environment:
      Variables:
        TASKMILL_STAGE: !Ref Stage
        TASKMILL_KAFKA_BROKERS: !Join [",", !Ref KafkaBrokers]
        TASKMILL_SHARDS: !Ref Shards
Resources:
  HttpApi:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefaultRouteSettings: {ThrottlingBurstLimit: 500}
  TaskmillLayer:
    Type: AWS::Serverless::LayerVersion
    Metadata: {BuildMethod: python3.13, BuildArchitecture: arm64}
    Properties: {ContentUri: shared/, CompatibleRuntimes: [python3.13]}
"""

GATEWAY = """
Gateway:
  Type: AWS::Serverless::Function
  Metadata: {BuildProperties: {ParentPackageMode: auto}}
  Properties:
    CodeUri: functions/gateway/
    Handler: functions.gateway.handler.lambda_handler
    ReservedConcurrentExecutions: 4
    Policies: [AWSLambdaBasicExecutionRole]
    Environment: {Variables: {TASKMILL_SELF: !Sub "${Stage}:${AWS::Region}:${!raw}"}}
    Events:
      Submit: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: POST, Path: /v1/tasks}}
      Read: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: GET, Path: "/v1/tasks/{id}"}}
      Rest: {Type: HttpApi, Properties: {ApiId: !Ref HttpApi, Method: ANY, Path: "/{proxy+}"}}
      Tick: {Type: Schedule, Properties: {Schedule: rate(1 minute), Input: '{"tick": 1}'}}
"""

MAPPING = """
GatewayTasks:
  Type: AWS::Lambda::EventSourceMapping
  Properties:
    FunctionName: !Ref Gateway
    Topics: [!Sub "tasks.${Stage}"]
    SelfManagedEventSource: {Endpoints: {KafkaBootstrapServers: !Ref KafkaBrokers}}
    SelfManagedKafkaEventSourceConfig: {ConsumerGroupId: gateway}
    StartingPosition: TRIM_HORIZON
    FunctionResponseTypes: [ReportBatchItemFailures]
    MaximumRetryAttempts: -1
    MaximumRecordAgeInSeconds: -1
"""


def read(folder: Path, *resources: str, base: str = BASE, **parameters: str) -> Plan:
    template = folder / "template.yaml"
    template.write_text(base + "".join(indent(resource, "  ") for resource in resources))
    return read_plan(template, root=ROOT, parameters={"KafkaBrokers": "a:1,b:2", **parameters})


def complaints(folder: Path, *resources: str, base: str = BASE, **parameters: str) -> str:
    with pytest.raises(TemplateRefused) as refused:
        read(folder, *resources, base=base, **parameters)
    return str(refused.value)


def test_a_template_becomes_a_plan(tmp_path):
    plan = read(tmp_path, GATEWAY, MAPPING)
    gateway = FunctionPlan(
        name="Gateway",
        handler="functions.gateway.handler.lambda_handler",
        code=ROOT,
        timeout=timedelta(seconds=30),
        memory_mb=256,
        concurrency=4,
        environment={
            "TASKMILL_STAGE": "local",
            "TASKMILL_KAFKA_BROKERS": "a:1,b:2",
            "TASKMILL_SHARDS": "16",
            "TASKMILL_SELF": "local:local:${raw}",
        },
    )
    mapping = MappingPlan(
        name="GatewayTasks",
        function="Gateway",
        topic="tasks.local",
        group="gateway",
        batch_size=100,
        window=timedelta(milliseconds=500),
        most_in_flight=5,
    )
    assert plan.functions == {"Gateway": gateway}
    assert set(plan.routes) == {
        RoutePlan(method="POST", path="/v1/tasks", function="Gateway"),
        RoutePlan(method="GET", path="/v1/tasks/{id}", function="Gateway"),
        RoutePlan(method="ANY", path="/{proxy+}", function="Gateway"),
    }
    assert plan.mappings == (mapping,)
    assert plan.rules == (
        RulePlan(
            name="GatewayTick",
            function="Gateway",
            expression="rate(1 minute)",
            event='{"tick": 1}',
        ),
    )


def test_a_mapping_says_its_own_numbers(tmp_path):
    numbers = """\
    BatchSize: 500
    MaximumBatchingWindowInSeconds: 0
    ProvisionedPollerConfig: {MinimumPollers: 1, MaximumPollers: 3, PollerGroupName: taskmill}
"""
    (mapping,) = read(tmp_path, GATEWAY, MAPPING + numbers).mappings
    assert (mapping.batch_size, mapping.window, mapping.most_in_flight) == (500, timedelta(0), 15)


def test_a_function_without_a_reservation_gets_ten(tmp_path):
    plan = read(tmp_path, GATEWAY.replace("    ReservedConcurrentExecutions: 4\n", ""))
    assert plan.functions["Gateway"].concurrency == 10


def test_a_resource_whose_condition_does_not_hold_is_left_out(tmp_path):
    only_live = MAPPING.replace("  Properties:", "  Condition: Deployed\n  Properties:")
    assert read(tmp_path, GATEWAY, only_live).mappings == ()
    assert len(read(tmp_path, GATEWAY, only_live, Stage="live").mappings) == 1


def test_only_the_branch_that_is_chosen_is_worked_out(tmp_path):
    choice = '!If [Deployed, "{{resolve:secretsmanager:dsn}}", plain]'
    gateway = GATEWAY.replace('!Sub "${Stage}:${AWS::Region}:${!raw}"', choice)
    assert read(tmp_path, gateway).functions["Gateway"].environment["TASKMILL_SELF"] == "plain"
    assert "{{resolve:secretsmanager:dsn}} has no value here" in complaints(
        tmp_path, gateway, Stage="live"
    )


def test_a_secret_is_known_by_its_name_alone(tmp_path):
    gateway = GATEWAY.replace('!Sub "${Stage}:${AWS::Region}:${!raw}"', "!Ref Keys")
    plan = read(tmp_path, gateway, "Keys: {Type: AWS::SecretsManager::Secret}")
    assert plan.functions["Gateway"].environment["TASKMILL_SELF"] == "Keys"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('!Select [1, !Split ["-", "a-b-c"]]', "b"),
        ('!Sub ["${Own}/${Stage}", {Own: !Ref AWS::AccountId}]', "000000000000/local"),
        ("!GetAtt Gateway.Arn", "arn:aws:lambda:local:000000000000:function:Gateway"),
        ("!Ref Gateway", "Gateway"),
        ("!If [Local, here, there]", "here"),
        ("!Ref KafkaBrokers", "['a:1', 'b:2']"),
        ("true", "true"),
        ("2012-10-17", "2012-10-17"),
    ],
)
def test_an_expression_has_its_value(tmp_path, expression, text):
    worker = f"""
Worker:
  Type: AWS::Serverless::Function
  Properties:
    CodeUri: functions/worker/
    Handler: functions.worker.handler.lambda_handler
    Environment: {{Variables: {{VALUE: {expression}}}}}
"""
    assert read(tmp_path, GATEWAY, worker).functions["Worker"].environment["VALUE"] == text


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        ("Queue: {Type: AWS::SQS::Queue}", "Queue (AWS::SQS::Queue): this type is not supported"),
        (
            GATEWAY.replace(
                "    CodeUri", "    DeadLetterQueue: {Type: SQS, TargetArn: x}\n    CodeUri"
            ),
            "Gateway (AWS::Lambda::Function): the property DeadLetterConfig is not supported here",
        ),
        (GATEWAY.replace("    CodeUri", "    Runtime: nodejs24.x\n    CodeUri"), "'nodejs24.x'"),
        (
            GATEWAY.replace("ANY, Path", "ANY, TimeoutInMillis: 100, Path"),
            "ANY /{proxy+}: timeoutInMillis is not supported here",
        ),
        (GATEWAY.replace("rate(1 minute)", "rate(1 minutes)"), "'rate(1 minutes)'"),
        (GATEWAY.replace("rate(1 minute),", "rate(1 minute), Enabled: false,"), "DISABLED"),
        (
            GATEWAY.replace(
                "rate(1 minute),", "rate(1 minute), RetryPolicy: {MaximumRetryAttempts: 1},"
            ),
            "Targets.RetryPolicy is not supported here",
        ),
        (GATEWAY.replace('!Sub "${Stage}', '!Sub "${Gone}'), "Gone has no value here"),
        (
            GATEWAY.replace('!Sub "${Stage}:${AWS::Region}:${!raw}"', "!ImportValue x"),
            "Environment.Variables.TASKMILL_SELF: the function Fn::ImportValue is not supported",
        ),
        (
            GATEWAY.replace(
                "CodeUri: functions/gateway/", "PackageType: Image\n    ImageUri: x"
            ).replace("    Handler: functions.gateway.handler.lambda_handler\n", ""),
            "Image",
        ),
        (GATEWAY.replace("    CodeUri", "    Nonsense: 1\n    CodeUri"), "Nonsense"),
        (
            GATEWAY.replace(
                "Schedule, Properties: {Schedule:", "ScheduleV2, Properties: {ScheduleExpression:"
            ),
            "AWS::Scheduler::Schedule",
        ),
    ],
)
def test_what_the_platform_does_not_know_is_refused(tmp_path, part, complaint):
    assert complaint in complaints(tmp_path, part)


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("TRIM_HORIZON", "LATEST", "StartingPosition is 'LATEST'"),
        ("[ReportBatchItemFailures]", "[]", "FunctionResponseTypes is []"),
        ("MaximumRetryAttempts: -1", "MaximumRetryAttempts: 3", "MaximumRetryAttempts is 3"),
        ("RecordAgeInSeconds: -1", "RecordAgeInSeconds: 60", "MaximumRecordAgeInSeconds is 60"),
        ("{ConsumerGroupId: gateway}", "{}", "exactly one ConsumerGroupId is needed, in"),
        ('[!Sub "tasks.${Stage}"]', "[a, b]", "must be a list of exactly one topic"),
        ("!Ref Gateway", "Elsewhere", "'Elsewhere', which is not a function of this template"),
        ("    StartingPosition", "    BatchSize: 0\n    StartingPosition", "BatchSize is 0"),
        ("    StartingPosition", "    Enabled: false\n    StartingPosition", "Enabled is False"),
        (
            "    StartingPosition",
            "    DestinationConfig: {OnFailure: {Destination: kafka://x}}\n    StartingPosition",
            "the property DestinationConfig is not supported here",
        ),
        (
            "    StartingPosition",
            "    FilterCriteria: {Filters: []}\n    StartingPosition",
            "the property FilterCriteria is not supported here",
        ),
    ],
)
def test_a_mapping_that_would_behave_differently_is_refused(tmp_path, good, bad, complaint):
    assert good in MAPPING
    assert complaint in complaints(tmp_path, GATEWAY, MAPPING.replace(good, bad))


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        (
            ("Auth: {EnableIamAuthorizer: true, DefaultAuthorizer: AWS_IAM}"),
            "security is not supported",
        ),
        ("CorsConfiguration: {AllowOrigins: ['*']}", "x-amazon-apigateway-cors is not supported"),
        ("StageName: v1", "StageName is 'v1', but only '$default' is supported here"),
    ],
)
def test_an_api_that_would_answer_differently_is_refused(tmp_path, setting, complaint):
    plain = "      DefaultRouteSettings"
    base = BASE.replace(plain, f"      {setting}\n{plain}")
    assert complaint in complaints(tmp_path, GATEWAY, base=base)


def test_all_complaints_come_at_once(tmp_path):
    with pytest.raises(TemplateRefused) as refused:
        read(
            tmp_path,
            GATEWAY.replace("rate(1 minute)", "rate(soon)"),
            MAPPING.replace("TRIM_HORIZON", "LATEST"),
            "Queue: {Type: AWS::SQS::Queue}",
            Stage="moon",
        )
    assert len(refused.value.complaints) == 4


def test_parameters_must_be_complete_and_known(tmp_path):
    no_default = BASE.replace("Stage: {Type: String, Default: local,", "Stage: {Type: String,")
    assert "the parameter Stage has neither a value nor a default" in complaints(
        tmp_path, base=no_default
    )
    assert "the template has no parameter Colour; it has Stage, KafkaBrokers" in complaints(
        tmp_path, Colour="red"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Resources: {A: [}", "not valid YAML"),
        ("Resources: {A: {Type: X}, A: {Type: Y}}", "the key 'A' appears twice"),
        ("just text", "it has no section Resources"),
        ("Resources: {A: just text}", "A"),
    ],
)
def test_a_file_that_is_no_template_is_refused(tmp_path, text, complaint):
    template = tmp_path / "template.yaml"
    template.write_text(text)
    with pytest.raises(TemplateRefused, match=complaint):
        read_plan(template, root=ROOT, parameters={})


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(TemplateRefused, match="cannot be read: No such file"):
        read_plan(tmp_path / "gone.yaml", root=ROOT, parameters={})


def test_a_mapping_has_no_more_in_flight_than_its_function_runs():
    mapping = MappingPlan(
        name="Tasks",
        function="Worker",
        topic="tasks",
        group="workers",
        batch_size=10,
        window=timedelta(),
        most_in_flight=6,
    )
    most = [[one.most_in_flight for one in fitted([mapping], {"Worker": cap})] for cap in (2, 8)]
    assert most == [[2], [6]]
