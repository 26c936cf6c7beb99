"""Batch services that answer otherwise than OpenAI's: no line is paid for twice, and what cannot go on is one sentence."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from assets.llm.ports import EndpointError, ModelReply
from pipelines.embedded.app import embedded_app
from pipelines.resources.llm.batch.settings import BatchProgress
from tests.pipelines.llm.batched import a_line, batched, jobs_at, when_all_are_there
from tests.pipelines.llm.scripted_server import on_a_port, settings_for
from tests.support.simulated_provider.exchange import error_response, forward, read, send_response
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider

TEXTS = [f"Question {number}?" for number in range(4)]
Fields = dict[str, Any]


def unchanged(fields: Fields, look: int) -> Fields | None:
    return fields


def as_they_are(rows: list[Fields]) -> list[Fields]:
    return rows


class OtherService:
    """A provider whose jobs and results are shown changed. `job` gets a job and how often it was looked at; None: not found.

    `absent`: how often each file of results is not found before it is there.
    """

    def __init__(
        self,
        *,
        job: Callable[[Fields, int], Fields | None] = unchanged,
        results: Callable[[list[Fields]], list[Fields]] = as_they_are,
        absent: int = 0,
    ) -> None:
        self.app: ASGIApp = Provider(embedded_app(), FaultProfile())
        self.job = job
        self.results = results
        self.absent = absent
        self.looks = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await read(scope, receive)
        answer = await forward(self.app, asked)
        if scope["method"] == "GET" and asked.path.startswith("/v1/batches/"):
            self.looks += 1
            shown = self.job(answer.content, self.looks)
            answer = error_response(404, "There is no such batch.") if shown is None else answer.with_content(shown)
        if asked.path.endswith("/content") and b'"response"' in answer.body:
            self.absent -= 1
            if self.absent >= 0:
                answer = error_response(404, "There is no such file.")
            else:
                rows = self.results([json.loads(row) for row in answer.body.splitlines()])
                body = "\n".join(map(json.dumps, rows)).encode()
                answer = type(answer)(answer.status, body, answer.headers)
        await send_response(answer, send)


def ask_all(url: str, folder: Path, *, seen: list[BatchProgress] | None = None) -> list[ModelReply]:
    model = batched(folder, settings_for(url), seen=seen, timing=when_all_are_there(len(TEXTS), quiet=3))

    async def together() -> list[ModelReply]:
        return list(await asyncio.gather(*(model.complete(a_line(text)) for text in TEXTS)))

    return asyncio.run(together())


def answered(service: OtherService, folder: Path, *, seen: list[BatchProgress] | None = None) -> int:
    """The number of jobs that it took until every line had its reply."""
    with on_a_port(service) as url:
        assert all(reply.text for reply in ask_all(url, folder, seen=seen))
        return len(jobs_at(url))


def refused(service: OtherService, folder: Path) -> tuple[str, int]:
    """The sentence that ends the run, and the number of jobs until then."""
    with on_a_port(service) as url:
        with pytest.raises(EndpointError) as told:
            ask_all(url, folder)
        return str(told.value), len(jobs_at(url))


@pytest.mark.parametrize("word", ["paused", "cancelling", "finalizing", "In-Progress", None, "QUEUED"])
def test_a_status_that_says_no_end_is_waited_for(word: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def job(fields: Fields, look: int) -> Fields:
        hidden = {"output_file_id": None, "request_counts": None, "status": word}
        return {**fields, **hidden} if look < 4 else fields

    service = OtherService(job=job)
    assert answered(service, tmp_path) == 1
    assert service.looks == 4
    assert ("is not known here; it is waited for" in caplog.text) == (word in ("paused", None))


@pytest.mark.parametrize("word", ["COMPLETED", "succeeded", "ended", "archived"])
def test_an_end_by_another_name_is_an_end(word: str, tmp_path: Path) -> None:
    def job(fields: Fields, look: int) -> Fields:
        return {**fields, "status": word}

    seen: list[BatchProgress] = []
    assert answered(OtherService(job=job), tmp_path, seen=seen) == 1
    assert seen[-1].ended


def test_a_job_and_its_files_that_are_not_there_at_the_first_look_are_looked_for_again(tmp_path: Path) -> None:
    def job(fields: Fields, look: int) -> Fields | None:
        return None if look < 3 else fields

    assert answered(OtherService(job=job, absent=3), tmp_path) == 1


def test_a_file_that_is_named_later_is_waited_for_and_one_that_never_is_ends_the_run(tmp_path: Path) -> None:
    def later(fields: Fields, look: int) -> Fields:
        return {**fields, "output_file_id": None} if look < 3 else fields

    def never(fields: Fields, look: int) -> Fields:
        return {**fields, "output_file_id": None}

    assert answered(OtherService(job=later), tmp_path / "later") == 1
    sentence, jobs = refused(OtherService(job=never), tmp_path / "never")
    assert "is done and names no file with its replies; start the run again to look again" in sentence
    assert jobs == 1


def test_what_a_job_that_ran_out_of_time_brought_is_kept_and_the_rest_is_sent_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jobs: set[str] = set()

    def job(fields: Fields, look: int) -> Fields:
        jobs.add(fields["id"])
        return {**fields, "status": "expired"} if len(jobs) == 1 else fields

    cut = [True]

    def results(rows: list[Fields]) -> list[Fields]:
        if not cut.pop():
            cut.append(False)
            return rows
        cut.append(False)
        return [*rows[:1], *({**row, "response": None, "error": {"code": "batch_expired"}} for row in rows[1:])]

    with caplog.at_level(logging.WARNING):
        assert answered(OtherService(job=job, results=results), tmp_path) == 2
    assert "ran out of time; 1 reply came and is kept, 2 lines did not, which are sent again in a new job" in caplog.text


def test_a_job_that_somebody_cancelled_ends_the_run_and_its_replies_are_kept(tmp_path: Path) -> None:
    first = [True]

    def job(fields: Fields, look: int) -> Fields:
        return {**fields, "status": "cancelled"} if first[0] else fields

    def results(rows: list[Fields]) -> list[Fields]:
        return rows[:1] if first[0] else rows

    service = OtherService(job=job, results=results)
    with on_a_port(service) as url:
        with pytest.raises(EndpointError, match="was cancelled there; 1 reply came and is kept, 2 lines did not"):
            ask_all(url, tmp_path)
        assert len(jobs_at(url)) == 1, "who cancels a job wants no other"
        first[0] = False
        assert len(ask_all(url, tmp_path)) == len(TEXTS)
        assert [job["request_counts"]["total"] for job in jobs_at(url)] == [1, 3]


def test_a_job_that_was_not_taken_is_sent_again_by_the_next_run(tmp_path: Path) -> None:
    first = [True]

    def job(fields: Fields, look: int) -> Fields:
        if not first[0]:
            return fields
        errors = [{"code": "billing_hard_limit_reached", "message": "No credit."}]
        return {**fields, "status": "failed", "errors": errors, "request_counts": None, "output_file_id": None}

    with on_a_port(OtherService(job=job)) as url:
        with pytest.raises(EndpointError, match="did not take the batch job batch_000001"):
            ask_all(url, tmp_path)
        first[0] = False
        assert len(ask_all(url, tmp_path)) == len(TEXTS)


def test_results_of_other_lines_are_refused_before_anything_is_paid_again(tmp_path: Path) -> None:
    def results(rows: list[Fields]) -> list[Fields]:
        return [{**row, "custom_id": f"request-{number}"} for number, row in enumerate(rows)]

    sentence, jobs = refused(OtherService(results=results), tmp_path)
    assert "has answered 3 lines, and its files hold no result with the id of one" in sentence
    assert jobs == 1


def in_disorder(rows: list[Fields]) -> list[Fields]:
    stranger = {**rows[0], "custom_id": "nobody's"}
    return [stranger, *reversed(rows)]


def with_late_errors(rows: list[Fields]) -> list[Fields]:
    errors = [{**row, "response": None, "error": {"code": "server_error"}} for row in rows]
    return [*rows, *errors]


def without_status(rows: list[Fields]) -> list[Fields]:
    return [{**row, "response": {"body": row["response"]["body"]}} for row in rows]


def bare(rows: list[Fields]) -> list[Fields]:
    return [{**row, "response": row["response"]["body"]} for row in rows]


def as_text(rows: list[Fields]) -> list[Fields]:
    return [{**row, "response": {"status_code": 200, "body": json.dumps(row["response"]["body"])}} for row in rows]


@pytest.mark.parametrize("results", [in_disorder, with_late_errors, without_status, bare, as_text])
def test_replies_are_found_by_the_ids_of_their_lines_in_any_form(
    results: Callable[[list[Fields]], list[Fields]], tmp_path: Path
) -> None:
    assert answered(OtherService(results=results), tmp_path) == 1


def test_an_error_beside_the_response_is_told_and_not_asked_again(tmp_path: Path) -> None:
    def results(rows: list[Fields]) -> list[Fields]:
        error = {"code": "invalid_request", "message": "messages: no such voice."}
        return [{**row, "response": None, "error": error} for row in rows]

    sentence, jobs = refused(OtherService(results=results), tmp_path)
    assert "no such voice" in sentence
    assert jobs == 1
