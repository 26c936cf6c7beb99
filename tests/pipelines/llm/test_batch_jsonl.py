"""The lines of batch jobs and the store that keeps them, and the contract that the simulated batches keep."""

import asyncio
import json
from pathlib import Path

import httpx2
import openai

from pipelines.embedded.app import embedded_app
from pipelines.resources.llm.batch.client import URL, input_line, split_lines
from pipelines.resources.llm.batch.store import BatchStore
from pipelines.resources.llm.compatibility import ApiCompatibility
from tests.pipelines.llm.batched import a_line
from tests.pipelines.llm.scripted_server import KEY as API_KEY
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider
from tests.support.waiting import LONG


def test_lines_are_split_by_number_and_by_size() -> None:
    lines = {str(number): "x" * 10 for number in range(5)}
    assert [len(part) for part in split_lines(lines, most_lines=2, most_bytes=1000)] == [2, 2, 1]
    assert [len(part) for part in split_lines(lines, most_lines=9, most_bytes=33)] == [3, 2]


def test_the_same_lines_may_be_sent_again_once_their_job_has_ended(tmp_path: Path) -> None:
    async def twice() -> tuple[list[str], list[str]]:
        store = BatchStore(tmp_path / "batches.sqlite", address="http://model/v1")
        (first,) = (await store.claim({"a": "{}"})).jobs
        assert list((await store.claim({"a": "{}"})).jobs) == [first], "while it is open, the line stays in it"
        await store.end(first, {})
        (second,) = (await store.claim({"a": "{}"})).jobs
        return first.split("-"), second.split("-")

    first, second = asyncio.run(twice())
    assert (first[0], first[1], second[1]) == (second[0], "0", "1")


def test_a_request_is_a_line_of_the_batch_contract() -> None:
    line = json.loads(input_line(a_line("Hü\u2028?"), custom_id="one", compatibility=ApiCompatibility()))
    assert (line["custom_id"], line["method"], line["url"]) == ("one", "POST", "/v1/chat/completions")
    assert line["body"]["messages"][-1]["content"] == "Hü\u2028?"


def test_the_simulated_batches_keep_the_contract() -> None:
    with on_a_port(Provider(embedded_app(api_key=API_KEY), FaultProfile(batch_delay=30))) as url:
        assert httpx2.get(f"{url}/batches", timeout=LONG).status_code == 401
        client = openai.OpenAI(base_url=url, api_key=API_KEY, max_retries=0)
        bad = client.files.create(file=("batch.jsonl", b"{}\n"), purpose="batch")
        failed = client.batches.create(input_file_id=bad.id, endpoint=URL, completion_window="24h")
        assert (failed.status, failed.errors and failed.errors.data and failed.errors.data[0].line) == ("failed", 1)
        line = input_line(a_line("Who?"), custom_id="one", compatibility=ApiCompatibility()).encode()
        good = client.files.create(file=("batch.jsonl", line), purpose="batch")
        job = client.batches.create(input_file_id=good.id, endpoint=URL, completion_window="24h", metadata={"of": "me"})
        assert client.batches.retrieve(job.id).status == "in_progress"
        assert client.batches.cancel(job.id).status == "cancelled"
        assert [found.id for found in client.batches.list(limit=1)] == [job.id, failed.id]
