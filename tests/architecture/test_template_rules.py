"""The templates obey the project's rules, and each rule detects a violation."""

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.check_template import NESTED, RULES, complaints, expanded, nested
from infra.rules import alarms, functions, log, mappings, policies, stores
from infra.rules.template import TOPIC, Template
from taskmill.stores.catalogue import AssembledCatalogue
from taskmill_local.template.source import load_template

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def template():
    return expanded()


def test_the_expanded_template_keeps_every_rule(template):
    assert complaints(template) == []


@pytest.mark.parametrize("name", [path.name for path in NESTED])
def test_a_nested_template_keeps_every_rule(name):
    assert complaints(nested()[name]) == []


def of(template: Template, name: str) -> dict[str, Any]:
    return template.resources[name]["Properties"]


def own(template: Template, role: str = "GatewayRole") -> list[dict[str, Any]]:
    return of(template, role)["Policies"][0]["PolicyDocument"]["Statement"]


def put(resource: str, path: str, value: Any) -> Any:
    """Set a value at a path of a resource's properties; None removes it."""

    def plant(template: Template) -> None:
        *way, last = path.split(".")
        place = of(template, resource)
        for step in way:
            place = place[step]
        if value is None:
            del place[last]
        else:
            place[last] = value

    return plant


def allow(action: str, resource: Any, role: str = "GatewayRole") -> Any:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    return lambda template: own(template, role).append(statement)


def variable(name: str, value: Any) -> Any:
    return put("Gateway", f"Environment.Variables.{name}", value)


def add(name: str, kind: str, **properties: Any) -> Any:
    def plant(template: Template) -> None:
        template.resources[name] = {"Type": kind, "Properties": properties}

    return plant


def deny_all(template: Template) -> None:
    own(template).append({"Effect": "Deny", "Action": "*", "Resource": "*"})


def revoke(resource: str, role: str = "GatewayRole") -> Any:
    """Remove a resource from all permissions of a role."""

    def plant(template: Template) -> None:
        for statement in own(template, role):
            listed = statement["Resource"]
            if isinstance(listed, list):
                statement["Resource"] = [one for one in listed if resource not in str(one)]

    return plant


def attach(*statements: dict[str, Any], role: str = "GatewayRole") -> Any:
    document = {"Version": "2012-10-17", "Statement": list(statements)}
    return add("Odd", "AWS::IAM::Policy", Roles=[{"Ref": role}], PolicyDocument=document)


def door(**statement: Any) -> Any:
    """Create an endpoint whose policy has one statement."""
    document = {"Statement": {"Effect": "Allow", "Action": "s3:GetObject", **statement}}
    return add("Door", "AWS::EC2::VPCEndpoint", PolicyDocument=document)


def keep_no_topic(template: Template) -> None:
    del template.resources["EchoWorkerTopic"]["DeletionPolicy"]


def hide_the_shards(template: Template) -> None:
    template.parameters["Shards"]["NoEcho"] = True


def forget(resource: str) -> Any:
    return lambda template: template.resources.pop(resource)


ARN = {"Fn::Sub": "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:x"}
TOPIC_OF = "${Data.Outputs.KafkaTopics}/tasks."
STRANGER = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
OPEN = [{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "CidrIp": "0.0.0.0/0"}]

# (the rule, what breaks it, what it then says)
CONTROLS = [
    (policies.actions_are_named, allow("sns:*", ARN), "GatewayRole allows sns:*"),
    (policies.actions_are_named, allow("*", ARN), "GatewayRole allows *"),
    (
        policies.actions_are_named,
        lambda template: own(template).append({"Effect": "Allow", "NotAction": "iam:PassRole"}),
        "GatewayRole allows all but some actions",
    ),
    (policies.resources_are_ours, allow("sns:Publish", "*"), "GatewayRole reaches *"),
    (
        policies.resources_are_ours,
        allow("kafka-cluster:WriteData", {"Fn::Sub": "${Data.Outputs.KafkaTopics}/*"}),
        "/*; narrow it to our own resources",
    ),
    (
        policies.resources_are_ours,
        lambda template: own(template).append({"Effect": "Allow", "NotResource": "x"}),
        "all but some resources",
    ),
    (policies.actions_are_named, attach({"Effect": "Allow", "Action": "s3:*"}), "Odd allows s3:*"),
    (policies.actions_are_named, door(Action="s3:*"), "Door allows s3:*"),
    (policies.resources_are_ours, door(Resource="*"), "Door reaches *"),
    (policies.nobody_else_is_let_in, door(Principal="*"), "Door admits *"),
    (policies.nobody_else_is_let_in, door(NotPrincipal="*"), "Door admits all but some principals"),
    (
        policies.nobody_else_is_let_in,
        put("BucketPolicy", "PolicyDocument.Statement", [{"Effect": "Allow", "Principal": "*"}]),
        "BucketPolicy admits *",
    ),
    (
        policies.functions_are_called_by_what_we_made,
        put("GatewayAnythingElsePermission", "Principal", "*"),
        "GatewayAnythingElsePermission lets * invoke it",
    ),
    (
        policies.functions_are_called_by_what_we_made,
        put("GatewayAnythingElsePermission", "SourceArn", None),
        "lets that service invoke it for anybody",
    ),
    (
        policies.functions_are_called_by_what_we_made,
        put("GatewayAnythingElsePermission", "Action", "lambda:UpdateFunctionCode"),
        "allows lambda:UpdateFunctionCode",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        revoke("taskmill-recorder-dlq", "SchedulerRole"),
        "Scheduler may not DescribeGroup taskmill-recorder-dlq, but must",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        revoke("tasks.inbox", "GatewayRole"),
        "Gateway may not DescribeTopic tasks.inbox, but must",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        revoke("tasks.pending", "DispatcherRole"),
        "Dispatcher may not WriteData tasks.pending, but must",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        put("EchoWorkerRole", "ManagedPolicyArns", [{"Ref": "FeedsFromKafka"}]),
        "EchoWorker may not WriteDataIdempotently the cluster, but must",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        put("RecorderRole", "ManagedPolicyArns", [{"Ref": "WritesToKafka"}]),
        "Recorder may WriteDataIdempotently the cluster, but does not need to",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        allow("kafka-cluster:WriteData", {"Fn::Sub": f"{TOPIC_OF}pending"}, "EchoWorkerRole"),
        "EchoWorker may WriteData tasks.pending, but does not need to",
    ),
    (
        log.functions_use_the_log_as_their_code_does,
        attach(
            {
                "Effect": "Allow",
                "Action": ["kafka-cluster:ReadData"],
                "Resource": [{"Fn::Sub": f"{TOPIC_OF}inbox"}],
            }
        ),
        "Gateway may ReadData tasks.inbox, but does not need to",
    ),
    (
        log.mappings_feed_who_the_code_knows,
        put(
            "RecorderDlq",
            "AmazonManagedKafkaEventSourceConfig.ConsumerGroupId",
            "taskmill-recorder-dead",
        ),
        "Recorder: the template has no consumer group taskmill-recorder-dlq that reads tasks.dlq",
    ),
    (
        log.mappings_feed_who_the_code_knows,
        put("EchoWorkerTasks", "Topics", ["tasks.worker.email"]),
        "EchoWorker: the code has no consumer group taskmill-worker-echo that reads",
    ),
    (
        policies.each_function_has_its_own_role,
        put("Gateway", "Role", {"Fn::GetAtt": ["RecorderRole", "Arn"]}),
        "shares RecorderRole",
    ),
    (
        policies.each_function_has_its_own_role,
        put("Gateway", "Role", "arn:aws:iam::1:role/admin"),
        "Gateway has no role of this template",
    ),
    (
        policies.roles_take_no_foreign_policies,
        put("GatewayRole", "ManagedPolicyArns", ["arn:aws:iam::aws:policy/AdministratorAccess"]),
        "AdministratorAccess, which is not one of our policies",
    ),
    (
        policies.only_services_assume_roles,
        put("GatewayRole", "AssumeRolePolicyDocument.Statement", [STRANGER]),
        "GatewayRole can be assumed by {'AWS': '*'}",
    ),
    (
        policies.functions_talk_only_to_their_stores,
        allow("elasticache:Connect", ARN, "RecorderRole"),
        "Recorder may use Redis, but does not need to",
    ),
    (
        policies.functions_talk_only_to_their_stores,
        put("EchoWorkerRole", "ManagedPolicyArns", []),
        "EchoWorker may not use Redis, but must",
    ),
    (
        policies.functions_talk_only_to_their_stores,
        allow("s3:GetObject", ARN, "DispatcherRole"),
        "Dispatcher may use S3, but does not need to",
    ),
    (
        policies.resources_are_ours,
        allow("s3:GetObject", {"Fn::Sub": "${Bucket.Arn}/*"}),
        "/*; narrow it to our own resources",
    ),
    (
        policies.workers_keep_to_their_own_objects,
        allow("s3:GetObject", {"Fn::Sub": "${Bucket.Arn}/payloads/email/*"}, "EchoWorkerRole"),
        "EchoWorker may s3:GetObject ${Bucket.Arn}/payloads/email/*, which is not its own resource",
    ),
    (
        policies.workers_keep_to_their_own_objects,
        allow("s3:PutObject", {"Fn::Sub": "${Bucket.Arn}/payloads/echo/*"}, "EchoWorkerRole"),
        "which is not its own",
    ),
    (
        policies.workers_keep_to_their_own_objects,
        allow("s3:DeleteObject", {"Fn::Sub": "${Bucket.Arn}/results/echo/*"}, "EchoWorkerRole"),
        "which is not its own",
    ),
    (
        stores.stores_are_closed,
        put("Bucket", "PublicAccessBlockConfiguration.BlockPublicPolicy", "false"),
        "Bucket has PublicAccessBlockConfiguration.BlockPublicPolicy 'false'",
    ),
    (
        functions.functions_name_their_limits,
        put("EchoWorker", "ReservedConcurrentExecutions", None),
        "EchoWorker has no ReservedConcurrentExecutions",
    ),
    (
        functions.functions_name_their_limits,
        put("EchoWorker", "Timeout", None),
        "EchoWorker has no Timeout",
    ),
    (
        functions.functions_name_their_limits,
        put("EchoWorker", "MemorySize", 10_240),
        "EchoWorker uses more memory",
    ),
    (
        functions.functions_name_their_limits,
        put("EchoWorker", "Architectures", ["x86_64"]),
        "EchoWorker has Architectures",
    ),
    (
        functions.time_outs_fit_their_triggers,
        put("EchoWorker", "Timeout", 900),
        "EchoWorker has 900 s; a Kafka mapping takes at most 840",
    ),
    (
        functions.time_outs_fit_their_triggers,
        put("Gateway", "Timeout", 60),
        "Gateway has 60 s; the HTTP API waits for 30",
    ),
    (
        functions.functions_stay_in_the_network,
        put("Recorder", "VpcConfig", None),
        "Recorder is not in the network",
    ),
    (
        functions.only_workers_go_out,
        put("Gateway", "VpcConfig.SubnetIds", {"Fn::GetAtt": "Network.Outputs.OutwardSubnetIds"}),
        "Gateway has Internet access",
    ),
    (
        functions.logs_end,
        put("RecorderLog", "RetentionInDays", None),
        "RecorderLog keeps its logs forever",
    ),
    (
        functions.logs_end,
        put("Recorder", "LoggingConfig", None),
        "Recorder logs into a group outside this template",
    ),
    (
        functions.the_api_is_not_open,
        variable("TASKMILL_API_KEYS_SECRET", "keys"),
        "Gateway has no secret with API keys",
    ),
    (
        functions.the_api_is_not_open,
        variable("TASKMILL_API_KEYS_SECRET", None),
        "Gateway has no secret with API keys",
    ),
    (
        functions.secrets_are_not_in_the_open,
        hide_the_shards,
        "TASKMILL_SHARDS exposes the hidden parameter Shards",
    ),
    (
        functions.secrets_are_not_in_the_open,
        variable("MAIL_PASSWORD", "hunter2"),
        "MAIL_PASSWORD is a literal",
    ),
    (
        functions.secrets_are_not_in_the_open,
        variable("MAIL", {"Fn::Sub": "{{resolve:secretsmanager:${ApiKeys}}}"}),
        "MAIL exposes the value of a secret",
    ),
    (
        functions.secrets_are_not_in_the_open,
        put("ApiKeys", "SecretString", '{"key": "hunter2"}'),
        "ApiKeys has its value in the template",
    ),
    (
        functions.variables_are_known,
        variable("TASKMILL_OUTBOX_CAPP", "7"),
        "Gateway: TASKMILL_OUTBOX_CAPP is not a setting, but TASKMILL_OUTBOX_CAP is",
    ),
    (
        functions.passwords_are_nowhere,
        variable("DSN", "postgresql://app:hunter2@there/db"),
        "Gateway has a URL with a password",
    ),
    (
        functions.passwords_are_nowhere,
        add("Database", "AWS::RDS::DBCluster", MasterUserPassword="hunter2"),
        "Database has MasterUserPassword in the template",
    ),
    (
        mappings.mappings_never_give_a_record_away,
        put("EchoWorkerTasks", "FunctionResponseTypes", None),
        "FunctionResponseTypes None",
    ),
    (
        mappings.mappings_never_give_a_record_away,
        put("EchoWorkerTasks", "StartingPosition", "LATEST"),
        "StartingPosition 'LATEST'",
    ),
    (
        mappings.mappings_never_give_a_record_away,
        put("EchoWorkerTasks", "MaximumRetryAttempts", 10),
        "MaximumRetryAttempts 10",
    ),
    (
        mappings.mappings_never_give_a_record_away,
        put("EchoWorkerTasks", "MaximumRecordAgeInSeconds", 60),
        "MaximumRecordAgeInSeconds 60",
    ),
    (
        mappings.mappings_never_give_a_record_away,
        put("EchoWorkerTasks", "DestinationConfig", {"OnFailure": {"Destination": ARN}}),
        "EchoWorkerTasks has DestinationConfig",
    ),
    (
        mappings.mappings_share_their_pollers,
        put("EchoWorkerTasks", "ProvisionedPollerConfig.PollerGroupName", "own"),
        "the mappings use several poller groups: own, taskmill",
    ),
    (
        mappings.mappings_share_their_pollers,
        put("EchoWorkerTasks", "ProvisionedPollerConfig", None),
        "EchoWorkerTasks has no poller group",
    ),
    (
        mappings.consumer_groups_are_ours,
        put(
            "EchoWorkerTasks",
            "AmazonManagedKafkaEventSourceConfig.ConsumerGroupId",
            "taskmill-dispatcher",
        ),
        "taskmill-dispatcher has 2 mappings",
    ),
    (
        mappings.consumer_groups_are_ours,
        put("EchoWorkerTasks", "AmazonManagedKafkaEventSourceConfig.ConsumerGroupId", "echo"),
        "'echo' does not begin with",
    ),
    (
        mappings.windows_fit_the_path,
        put("EchoWorkerTasks", "MaximumBatchingWindowInSeconds", None),
        "EchoWorkerTasks sets the batching window None",
    ),
    (
        mappings.windows_fit_the_path,
        put("RecorderEvents", "MaximumBatchingWindowInSeconds", 1),
        "RecorderEvents sets a batching window",
    ),
    (
        mappings.topics_are_made_with_their_workers,
        forget("EchoWorkerTopic"),
        "reads tasks.worker.echo, which no AWS::MSK::Topic creates",
    ),
    (
        mappings.topics_are_made_with_their_workers,
        put("EchoWorkerTopic", "PartitionCount", 1),
        "EchoWorkerTasks has more pollers",
    ),
    (
        mappings.topics_are_made_with_their_workers,
        put("EchoWorkerTopic", "ReplicationFactor", 1),
        "EchoWorkerTopic does not have 3 replicas",
    ),
    (mappings.workers_are_fed, forget("EchoWorkerTasks"), "EchoWorker is a worker without a"),
    (
        mappings.a_record_is_a_call,
        put("EchoWorkerTasks", "BatchSize", 2),
        "EchoWorkerTasks has a BatchSize other than 1",
    ),
    (
        mappings.a_record_is_a_call,
        put("EchoWorker", "Timeout", 60),
        "EchoWorkerTasks feeds a function with a Timeout other than 840",
    ),
    (
        mappings.each_partition_can_have_a_process,
        put("EchoWorkerTopic", "PartitionCount", 11),
        "EchoWorkerTasks has 2 to 2 pollers, which run 5 invocations each, for 11 partitions",
    ),
    (
        mappings.each_partition_can_have_a_process,
        put("EchoWorkerTasks", "ProvisionedPollerConfig.MinimumPollers", 1),
        "EchoWorkerTasks has 1 to 2 pollers",
    ),
    (
        mappings.each_partition_can_have_a_process,
        put("EchoWorker", "ReservedConcurrentExecutions", 5),
        "EchoWorkerTasks feeds a function with less reserved concurrency than partitions",
    ),
    (
        log.readers_are_deployed_first,
        lambda template: template.resources["Dispatcher"].pop("DependsOn"),
        "Dispatcher writes for EchoWorker, but its DependsOn does not name it",
    ),
    *(
        (
            log.readers_are_deployed_first,
            lambda template, name=name: template.resources[name].pop("DependsOn"),
            f"{name} writes for Recorder, but its DependsOn does not name it",
        )
        for name in ("Gateway", "Inbox", "Dispatcher", "EchoWorker", "Scheduler")
    ),
    (
        alarms.alarms_tell_somebody,
        put("TasksDie", "AlarmActions", []),
        "TasksDie notifies no topic",
    ),
    (
        policies.functions_read_the_secrets_that_they_are_told_of,
        put("RecorderRole", "ManagedPolicyArns", []),
        "Recorder may not read the secret of TASKMILL_POSTGRES_SECRET, but must",
    ),
    (
        policies.functions_read_the_secrets_that_they_are_told_of,
        allow("secretsmanager:GetSecretValue", {"Ref": "WebhookSecrets"}),
        "Gateway may read WebhookSecrets, which none of its variables names",
    ),
    (
        alarms.alarms_tell_somebody,
        put("TasksDie", "AlarmDescription", None),
        "TasksDie has no AlarmDescription",
    ),
    (
        alarms.alarms_tell_somebody,
        put("TasksDie", "TreatMissingData", None),
        "TasksDie does not set TreatMissingData",
    ),
    (alarms.functions_are_watched, forget("GatewayAlarms"), "Gateway has no alarms"),
    (
        alarms.functions_are_watched,
        put("GatewayAlarms", "Parameters.LongestMilliseconds", 30_000),
        "Gateway has a threshold for slow runs",
    ),
    (alarms.mappings_are_watched, forget("RecorderDlqAlarms"), "RecorderDlq has no alarms"),
    (
        alarms.mappings_are_watched,
        put("RecorderDlqAlarms", "Parameters.Group", "taskmill-recorder-events"),
        "RecorderDlq reads as taskmill-recorder-dlq, but the alarm watches",
    ),
    (
        alarms.mappings_are_watched,
        put("RecorderDlqAlarms", "Parameters.Topic", None),
        "RecorderDlq reads as tasks.dlq, but the alarm watches None",
    ),
    (
        alarms.mappings_are_watched,
        put("RecorderDlqAlarms", "Parameters.Cluster", None),
        "RecorderDlq has alarms without a cluster",
    ),
    (
        stores.stores_are_closed,
        add("Database", "AWS::RDS::DBCluster", StorageEncrypted=False),
        "Database has StorageEncrypted False",
    ),
    (
        stores.stores_are_closed,
        add("Words", "AWS::RDS::DBClusterParameterGroup", Parameters={}),
        "Words has Parameters.log_error_verbosity None",
    ),
    (stores.what_holds_tasks_is_kept, keep_no_topic, "EchoWorkerTopic has DeletionPolicy None"),
    (
        stores.nobody_comes_in_from_everywhere,
        add("Door", "AWS::EC2::SecurityGroup", SecurityGroupIngress=OPEN),
        "Door is open to everybody",
    ),
]


@pytest.mark.parametrize(
    ("rule", "plant", "complaint"),
    [pytest.param(*control, id=f"{control[0].__name__}: {control[2]}") for control in CONTROLS],
)
def test_a_rule_catches_what_breaks_it(template, rule, plant, complaint):
    bad = Template(body=deepcopy(template.body))
    plant(bad)
    assert any(complaint in answer for answer in rule(bad)), list(rule(bad))


def test_what_is_denied_may_be_wide(template):
    wide = Template(body=deepcopy(template.body))
    deny_all(wide)
    assert complaints(wide) == []


def test_every_rule_was_seen_to_catch_something():
    assert {rule for rule, _, _ in CONTROLS} == set(RULES)


def test_the_topics_of_the_deployment_are_those_of_the_local_platform(template):
    asked = yaml.safe_load((ROOT / "infra/kafka/topics.yaml").read_text())
    shared = nested()["data.yaml"]
    made = {topic["TopicName"]: topic for _, topic in shared.of(TOPIC)}
    partitions = {name: topic["PartitionCount"] for name, topic in made.items()}
    assert partitions == {name: topic["partitions"] for name, topic in asked["topics"].items()}
    of_types = {entry.name: entry.partitions for entry in AssembledCatalogue().entries()}
    for _, topic in template.of(TOPIC):
        assert topic["PartitionCount"] == of_types[topic["TopicName"].rpartition(".")[2]]
        assert topic["Configs"] == {"Fn::GetAtt": ["Data", "Outputs.TopicConfigs"]}
    configs = [*(topic["Configs"] for topic in made.values()), outputs("data")["TopicConfigs"]]
    defaults = {name: str(value) for name, value in asked["defaults"].items()}
    assert [settings(one) for one in configs] == [defaults] * len(configs)


def test_who_is_behind_is_told_of_long_before_the_log_forgets():
    asked = yaml.safe_load((ROOT / "infra/kafka/topics.yaml").read_text())
    longest = nested()["function_alarms.yaml"].parameters["LongestLag"]["Default"]
    assert 2 * 1000 * longest < asked["defaults"]["retention.ms"]


def test_the_cache_is_told_of_before_it_throws_keys_away():
    data = nested()["data.yaml"]
    limit = of(data, "Redis")["CacheUsageLimits"]["DataStorage"]["Maximum"] * 1_000_000_000
    assert 0.5 * limit < of(data, "RedisFills")["Threshold"] < 0.9 * limit


def test_the_disk_of_each_broker_is_looked_at():
    data = nested()["data.yaml"]
    looked_at = [
        dimension["Value"]
        for metric in of(data, "KafkaFills")["Metrics"]
        if "MetricStat" in metric
        for dimension in metric["MetricStat"]["Metric"]["Dimensions"]
        if dimension["Name"] == "Broker ID"
    ]
    assert looked_at == [str(1 + at) for at in range(of(data, "Kafka")["NumberOfBrokerNodes"])]


def settings(configs: dict[str, str]) -> dict[str, str]:
    lines = configs["Fn::Base64"].splitlines()
    return dict(line.split("=", maxsplit=1) for line in lines)


def outputs(name: str) -> dict[str, Any]:
    answer = load_template(ROOT / f"infra/{name}.yaml")["Outputs"]
    return {key: one["Value"] for key, one in answer.items()}


@pytest.mark.parametrize(("stack", "name"), [("Data", "data"), ("Network", "network")])
def test_only_outputs_that_exist_are_asked_for(stack, name):
    text = (ROOT / "template.yaml").read_text()
    asked = set(re.findall(rf"\b{stack}\.Outputs\.(\w+)", text))
    assert asked
    assert asked <= set(outputs(name))
