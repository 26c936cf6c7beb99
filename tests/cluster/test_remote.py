"""A variant is made when its work units are, whatever Dagster calls a backfill."""

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pipelines.cli.generate import Phase
from pipelines.cluster.remote import Deployment
from tests.pipelines.scripted_server import on_a_port


def backfill(**counts: int) -> dict[str, Any]:
    counted = [{"runStatus": name.upper(), "count": count} for name, count in counts.items()]
    return {"status": "COMPLETED_FAILED", "partitionStatusCounts": counted}


def failed(*tags: str) -> dict[str, Any]:
    return {"tags": [{"key": f"dagster/{tag}", "value": "true"} for tag in tags]}


def test_a_backfill_is_not_over_while_a_run_that_died_is_to_be_started_again() -> None:
    answers: list[dict[str, Any]] = [
        {"nodes": [{"name": "__repository__", "location": {"name": "amemgym"}}]},
        {"backfillId": "b1"},
        backfill(success=1, failure=1),
        {"results": [failed("will_retry")]},
        backfill(success=2),
        {"results": [failed("will_retry", "auto_retry_run_id")]},
    ]
    told: list[str] = []

    async def answer(request: Request) -> JSONResponse:
        return JSONResponse({"data": {"field": answers.pop(0)}})

    with on_a_port(Starlette(routes=[Route("/graphql", answer, methods=["POST"])])) as url:
        units = [Phase("generate_unit", unit, {}) for unit in ("crowd-0000", "crowd-0001")]
        Deployment(url.removesuffix("/v1"), tell=told.append).make(units)
    assert answers == []
    assert told[1:] == ["generate_unit: 1 success, 1 failure", "generate_unit: 2 success"]
