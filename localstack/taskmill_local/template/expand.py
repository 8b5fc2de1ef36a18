"""Expands the SAM template to plain CloudFormation with the translator that deployments use."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taskmill_local.template.refusal import TemplateRefused
from taskmill_local.template.values import PSEUDO_PARAMETERS

# The translator accepts only uploaded code; here functions run in place.
_UPLOADS = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
    "AWS::Serverless::Application": "Location",
}
_UPLOADED = "s3://local/code"


class _Session:
    """The part of a boto3 session that the translator uses, so that no AWS settings are read."""

    region_name = PSEUDO_PARAMETERS["AWS::Region"]


class _NoManagedPolicies:
    """Roles have no effect here, so no list of managed policies is fetched from AWS."""

    def load(self) -> dict[str, str]:
        return {}


def expand(
    source: dict[str, Any], *, template: Path, parameters: Mapping[str, str]
) -> dict[str, Any]:
    """Return the CloudFormation template; ``source`` is modified."""
    # The translator imports boto3, half a second: only commands that read a template pay for it.
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    _pretend_uploads(source)
    translator = Translator(None, Parser(), boto_session=_Session())
    try:
        expanded = translator.translate(
            source,
            parameter_values={**PSEUDO_PARAMETERS, **parameters},
            get_managed_policy_map=_NoManagedPolicies().load,
        )
    except InvalidDocumentException as error:
        raise TemplateRefused(template, [cause.message for cause in error.causes]) from error
    finally:
        # They go nowhere; unpublished ones are reported on the terminal when garbage-collected.
        translator.metrics.publish()
    # The translator returns its own dicts, whose keys() is a list: make them plain again.
    plain: dict[str, Any] = json.loads(json.dumps(expanded))
    return plain


def _pretend_uploads(source: dict[str, Any]) -> None:
    globals_function = (source.get("Globals") or {}).get("Function") or {}
    globals_function.pop("CodeUri", None)
    for resource in source["Resources"].values():
        if not isinstance(resource, dict):
            continue
        upload = _UPLOADS.get(str(resource.get("Type")))
        properties = resource.get("Properties") or {}
        if upload and properties.get("PackageType") != "Image":
            properties[upload] = _UPLOADED
