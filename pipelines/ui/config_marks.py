"""Marks in the launchpad what no recipe could have, before anything is launched: Dagster's config types have no ranges."""

import json
from collections.abc import Mapping
from typing import Any, cast

import yaml

# A private import: `dagster-webserver` is a command only, and neither accepts a bound socket nor routes or checks of ours.
from dagster_webserver.webserver import DagsterWebserver
from starlette.requests import Request
from starlette.responses import JSONResponse

from pipelines.opening.run_checks import impossible_values

QUESTION = "isPipelineConfigValid"  # what the launchpad asks after each change of the config
VALID = "PipelineConfigValidationValid"
INVALID = "RunConfigValidationInvalid"


class MarkingWebserver(DagsterWebserver[Any, Any]):
    """Dagster's web server. What it says of a run's config has a sentence for each value out of its range as well."""

    def graphql_execution_thread(
        self, request: Request, query: str, variables: dict[str, Any] | None, operation_name: str | None
    ) -> JSONResponse:
        answer = super().graphql_execution_thread(request, query, variables, operation_name)
        if QUESTION not in query:
            return answer
        content = json.loads(bytes(answer.body))
        mark_values(content, (variables or {}).get("runConfigData"))
        return JSONResponse(content, status_code=answer.status_code)


def mark_values(answer: Mapping[str, Any], run_config: object) -> None:
    """Add an error to Dagster's answer for each value that no recipe could have. Other answers stay as they are."""
    data: dict[str, Any] = answer.get("data") or {}
    found: dict[str, Any] = data.get(QUESTION) or {}
    if found.get("__typename") != VALID:
        return  # Dagster's own errors come first
    config: object = yaml.safe_load(run_config) if isinstance(run_config, str) else run_config
    errors: list[dict[str, Any]] = []
    for path, sentence in impossible_values(cast(Mapping[str, Any], config or {})):
        entries = [{"__typename": "EvaluationStackPathEntry", "fieldName": name} for name in path]
        errors.append(
            {
                "__typename": "RuntimeMismatchConfigError",
                "reason": "RUNTIME_TYPE_MISMATCH",
                "message": sentence,
                "stack": {"__typename": "EvaluationStack", "entries": entries},
            }
        )
    if errors:
        found.update(__typename=INVALID, errors=errors)
