"""A variant is made when its work units are, whatever Dagster calls a backfill."""

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pipelines.cluster.remote import Deployment
from pipelines.jobs import Phase
from tests.pipelines.llm.scripted_server import on_a_port


def backfill(**counts: int) -> dict[str, Any]:
    counted = [{"runStatus": name.upper(), "count": count} for name, count in counts.items()]
    return {"status": "COMPLETED_FAILED", "partitionStatusCounts": counted}


def died(**tags: str) -> dict[str, Any]:
    return {"tags": [{"key": f"dagster/{key}", "value": value} for key, value in tags.items()]}


def test_a_unit_that_died_as_the_last_of_its_backfill_is_asked_for_again() -> None:
    answers: list[dict[str, Any]] = [
        {"nodes": [{"name": "__repository__", "location": {"name": "amemgym"}}]},
        {"backfillId": "b1"},
        backfill(success=1, failure=1),
        {"results": [died(partition="crowd-0000", auto_retry_run_id="r2"), died(partition="crowd-0001")]},
        {"backfillId": "b2"},
        backfill(success=1),
    ]
    asked: list[dict[str, Any]] = []

    async def answer(request: Request) -> JSONResponse:
        asked.append((await request.json())["variables"])
        return JSONResponse({"data": {"field": answers.pop(0)}})

    with on_a_port(Starlette(routes=[Route("/graphql", answer, methods=["POST"])])) as url:
        units = [Phase("generate_unit", unit) for unit in ("crowd-0000", "crowd-0001")]
        Deployment(url.removesuffix("/v1"), report=print).make(units)
    assert answers == []
    assert [ask["params"]["partitionNames"] for ask in asked if "params" in ask] == [
        ["crowd-0000", "crowd-0001"],
        ["crowd-0001"],
    ]
