"""Checks the expanded template, and the templates nested in it, against the project's rules."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from infra.rules import alarms, functions, log, mappings, policies, stores
from infra.rules.template import Template
from taskmill_local.template.expand import expand
from taskmill_local.template.source import load_template

ROOT: Final = Path(__file__).parents[1]
TEMPLATE: Final = ROOT / "template.yaml"
NESTED: Final = tuple(
    ROOT / f"infra/{name}.yaml" for name in ("network", "data", "function_alarms")
)

Rule: TypeAlias = Callable[[Template], Iterator[str]]
RULES: Final[tuple[Rule, ...]] = (
    policies.actions_are_named,
    policies.resources_are_ours,
    policies.nobody_else_is_let_in,
    policies.functions_are_called_by_what_we_made,
    policies.each_function_has_its_own_role,
    policies.roles_take_no_foreign_policies,
    policies.only_services_assume_roles,
    policies.functions_talk_only_to_their_stores,
    policies.workers_keep_to_their_own_objects,
    policies.functions_read_the_secrets_that_they_are_told_of,
    functions.functions_name_their_limits,
    functions.time_outs_fit_their_triggers,
    functions.functions_stay_in_the_network,
    functions.only_workers_go_out,
    functions.logs_end,
    functions.the_api_is_not_open,
    functions.secrets_are_not_in_the_open,
    functions.variables_are_known,
    functions.passwords_are_nowhere,
    mappings.mappings_never_give_a_record_away,
    mappings.mappings_share_their_pollers,
    mappings.consumer_groups_are_ours,
    mappings.windows_fit_the_path,
    mappings.topics_are_made_with_their_workers,
    mappings.workers_are_fed,
    mappings.a_record_is_a_call,
    mappings.each_partition_can_have_a_process,
    log.functions_use_the_log_as_their_code_does,
    log.mappings_feed_who_the_code_knows,
    log.readers_are_deployed_first,
    alarms.alarms_tell_somebody,
    alarms.functions_are_watched,
    alarms.mappings_are_watched,
    stores.stores_are_closed,
    stores.what_holds_tasks_is_kept,
    stores.nobody_comes_in_from_everywhere,
)


def expanded(template: Path = TEMPLATE) -> Template:
    return Template(body=expand(load_template(template), template=template, parameters={}))


def nested() -> Mapping[str, Template]:
    return {path.name: Template(body=load_template(path)) for path in NESTED}


def complaints(template: Template) -> list[str]:
    return [complaint for rule in RULES for complaint in rule(template)]


def main() -> int:
    whole = expanded()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(whole.body, indent=2))
    problems = [
        f"{name}: {complaint}"
        for name, template in {TEMPLATE.name: whole, **nested()}.items()
        for complaint in complaints(template)
    ]
    print("\n".join(problems), end="\n" if problems else "")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
