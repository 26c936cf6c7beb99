"""What the tests of batch jobs share: the chain over batch jobs at a served provider, also as a process to be killed."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai

from assets.amemgym.pipeline import STAGES
from assets.engine.ports import RunContext, SnapshotRef
from assets.llm.ports import ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.model_policy import Transport
from pipelines.embedded.bank import model_name
from pipelines.resources.cache.reply_cache import CachedModel, open_replies
from pipelines.resources.llm.batch.queue import BatchedModel, BatchResources
from pipelines.resources.llm.batch.settings import BatchProgress, BatchSettings
from pipelines.resources.llm.batch.store import BatchStore
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.pipelines.llm.scripted_server import a_request, settings_for
from tests.support.run_contexts import DictRecordCache, materialized
from tests.support.small import small_recipe
from tests.support.waiting import LONG

# Gates and audit that ask little: these tests are about how calls are made, not how many.
GATES = {"votes": 1, "votes_needed": 1, "unexposed": 0, "reverse": False, "max_reasks": 6}
AUDIT = {"decoys": 1, "pairs": 1, "guesses": 0}
QUICK = BatchSettings(quiet=0.15, first_look=0.05, longest_look=0.2)


def when_all_are_there(calls: int, *, quiet: float = LONG) -> BatchSettings:
    """A job is sent when so many calls have come; a smaller one, of lines sent again, after `quiet` seconds.

    Tests that count jobs take this: on a busy machine calls made together reach the queue far apart.
    """
    return BatchSettings(quiet=quiet, first_look=0.05, longest_look=0.2, most_lines=calls)


def batched(
    folder: Path,
    settings: EndpointSettings,
    *,
    seen: list[BatchProgress] | None = None,
    timing: BatchSettings = QUICK,
) -> CachedModel:
    """Reply cache, batch jobs and client, as a run stacks them, with stores in the folder."""
    cache = open_replies(folder / "calls.sqlite")
    store = BatchStore(folder / "batches.sqlite", address=settings.address)
    on_progress = None if seen is None else seen.append
    resources = BatchResources(ModelClient(settings), settings, store, timing=timing, on_progress=on_progress)
    return CachedModel(BatchedModel(resources, cache=cache), store=cache, mode="use")


def a_line(text: str) -> ModelRequest:
    """A call to the embedded model that goes in a batch job."""
    plain = a_request(text)
    return replace(plain, model=model_name(), schema_name="chat", labels=replace(plain.labels, transport="batch"))


def chain(url: str, folder: Path, *, transport: Transport, **settings: object) -> dict[str, SnapshotRef]:
    """Make a small variant stage by stage; the snapshot of every stage, with what its calls used."""
    shop = RunContext(batched(folder, settings_for(url, **settings)), ParquetSnapshots(folder / "snapshots"), DictRecordCache())
    return {name: result.ref for name, result in materialized(shop, recipe(transport), *STAGES[1:]).items()}


def recipe(transport: Transport) -> AMemGymRecipe:
    """Two users, two questions, one period."""
    spec = {"model": model_name(), "transport": transport}
    models = {"writer": spec, "judge": spec, "user_simulator": spec}
    return small_recipe(num_questions=2, num_choices_per_state=3, models=models, gates=GATES, audit=AUDIT)


def jobs_at(url: str) -> list[dict[str, Any]]:
    """Every job the provider was sent, as it tells them."""
    return [job.model_dump() for job in _patient(url).batches.list(limit=100).data]


def lines_at(url: str) -> list[str]:
    """The ids of all lines of all jobs that the provider was ever sent."""
    files = [_patient(url).files.content(job["input_file_id"]).text for job in jobs_at(url)]
    return [row.partition('"custom_id":"')[2].partition('"')[0] for content in files for row in content.splitlines()]


def _patient(url: str) -> openai.OpenAI:
    """A client that asks again: a provider's faults strike the test's own look too."""
    return openai.OpenAI(base_url=url, api_key="any", timeout=5, max_retries=30)


if __name__ == "__main__":
    print(chain(sys.argv[1], Path(sys.argv[2]), transport="batch"))
