"""`amemgym evaluate-documents`: memories on a release of documents in turns."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from assets.llm.ports import EndpointError
from assets.memory_items.tasks import MemoryTask
from assets.recipe.recipe import Recipe
from dataset_card.release.manifest import RECIPE, ManifestError, read_manifest
from dataset_card.release.versions import released_versions
from pipelines.benchmarks import format_of
from pipelines.cli.errors import Problem
from pipelines.evaluation.contract import MemoryTools
from pipelines.evaluation.document_tasks.results import DocumentResults, curve, results_page
from pipelines.evaluation.document_tasks.run import evaluate_memory
from pipelines.evaluation.document_tasks.tasks import DocumentTask, read_tasks
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import runs_folder
from pipelines.evaluation.memories.registry import MemorySpec, find_memory, source_digest
from pipelines.evaluation.reasoning import Reasoner
from pipelines.home import home
from pipelines.resources.open import open_run_context

SEED = 42


def evaluate_documents(
    release: Annotated[str, typer.Argument(help="A variant (its latest release), or a release folder.")],
    memory: Annotated[list[str], typer.Option(help="Name of a memory, or my.py:Class; may be repeated.")],
    tokens: Annotated[int, typer.Option(min=1, help="What a memory may give back.")] = 4000,
    model: Annotated[str, typer.Option(help="Model of the reasoner, and of the memories.")] = "gpt-4.1",
    embedding_model: Annotated[str, typer.Option(help="Model of the memories' embeddings.")] = "text-embedding-3-small",
    tasks: Annotated[Optional[int], typer.Option(min=1, help="Only the first so many tasks of each length.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks evaluated at once.")] = 8,
) -> None:
    """Write documents to memories turn by turn, ask, and tell what each memory brings, by length and hops."""
    try:
        folder = _folder(release)
        manifest = read_manifest(folder)
        specs = [find_memory(name) for name in memory]
        record = format_of(folder).benchmark.final.record
        if not issubclass(record, MemoryTask):
            raise Problem(f"{folder} has no documents in turns; evaluate it with: amemgym evaluate {release}")
        known = _first(read_tasks(folder, record, variant=manifest.variant, language="English"), tasks)
        results = asyncio.run(
            _evaluate(specs, known, manifest.variant + "-" + manifest.version, tokens, model, embedding_model, concurrency)
        )
    except (EvaluationError, ManifestError, EndpointError) as error:
        raise Problem(str(error)) from error
    identity = json.dumps([manifest.digest, tokens, model, tasks, *((one.name, source_digest(one.kind)) for one in specs)])
    out = (
        runs_folder(home())
        / f"{manifest.variant}-{manifest.version}-documents-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
    )
    out.mkdir(parents=True, exist_ok=True)
    page = results_page(results)
    (out / "report.md").write_text(page, encoding="utf-8")
    (out / "results.json").write_text(json.dumps([one.model_dump() for one in results], indent=2) + "\n", encoding="utf-8")
    print(page)
    Console(stderr=True).print(f"Written to [bold]{out}[/bold]")


def _folder(release: str) -> Path:
    """The folder of a variant's latest release, or the one that was given."""
    given = Path(release)
    if (given / RECIPE).is_file():
        return given
    versions = released_versions(home().releases / release)
    if not versions:
        raise Problem(f"There is no release of {release!r}; make one with: amemgym generate {release}")
    return home().releases / release / versions[-1]


def _first(tasks: list[DocumentTask], most: int | None) -> list[DocumentTask]:
    """The first tasks of each length."""
    counts: dict[int, int] = {}
    kept: list[DocumentTask] = []
    for task in tasks:
        counts[task.sized.target_tokens] = counts.get(task.sized.target_tokens, 0) + 1
        if most is None or counts[task.sized.target_tokens] <= most:
            kept.append(task)
    return kept


async def _evaluate(
    specs: list[MemorySpec], tasks: list[DocumentTask], name: str, budget: int, model: str, embedding: str, at_once: int
) -> list[DocumentResults]:
    with open_run_context(home()) as context:
        assert context.open_model is not None
        assert context.open_embedder is not None
        recipe = Recipe(variant=name, benchmark="evaluation", seed=SEED)
        asked = context.open_model(recipe, name)
        chosen = context.embedded_model or model
        tools = MemoryTools(asked, context.open_embedder(recipe, name), chosen, context.embedded_model or embedding, SEED)
        reasoner = Reasoner(asked, chosen, SEED)
        results: list[DocumentResults] = []
        for spec in specs:
            rows, errors = await evaluate_memory(spec, tasks, tools=tools, reasoner=reasoner, budget=budget, at_once=at_once)
            results.append(
                DocumentResults(
                    memory=spec.name,
                    release=name,
                    reasoner=chosen,
                    budget=budget,
                    tasks=len(rows),
                    errors=tuple(errors),
                    curve=curve(rows, seed=SEED),
                )
            )
        return results
