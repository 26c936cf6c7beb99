"""A run's score as a file for the model's repository on the Hub, which shows it there and on the board of the data set.

The board is that of a task in the data set's `eval.yaml`: one memory with one budget. The file is written by `huggingface_hub`.
"""

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from assets.records.estimate import with_interval
from assets.reporting.plurals import counted
from dataset_card.card.benchmark_file import BUDGETS, MEMORIES, NO_MEMORY, task_id
from dataset_card.hub.layout import checked_repo
from dataset_card.release.manifest import ManifestError, read_manifest
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.errors import EvaluationError
from pipelines.evaluation.records import RunManifest
from pipelines.export.folders import path_part, write_files
from pipelines.export.formats import RunExport
from pipelines.home import home
from pipelines.memories.registry import find_memory

OVERALL = "overall"
DATA_SETS = "https://huggingface.co/datasets"


def write_run_results(export: RunExport) -> list[str]:
    """Write the file, and say where it belongs.

    Raises EvaluationError for a run whose memory and budget have no board, or that is not over the whole release.
    """
    manifest = export.run.manifest
    score = export.run.results.metrics[OVERALL]
    if score.value is None or export.run.results.errors:
        raise EvaluationError(f"{manifest.run_id} is not a score of all its {manifest.noun}s; evaluate again.")
    model = manifest.shared().models["assistant"]
    if model.startswith(MODEL_FAMILY):
        raise EvaluationError(
            f"{manifest.run_id} is of the embedded model, which says nothing about memories; evaluate a real model."
        )
    if not export.repo:
        raise EvaluationError("Say in which repository of the Hub the data set is: --repo OWNER/NAME, or OWNER/NAME@REVISION.")
    name, _, revision = export.repo.partition("@")
    repo = checked_repo(name)
    task = _task_of(manifest)
    unchecked = _unchecked_release(manifest)
    notes = (
        f"{manifest.memory.name} gives back at most {manifest.tokens:,} tokens; {with_interval(score)} over "
        f"{counted(len(manifest.users), manifest.noun)} of {manifest.dataset}; run {manifest.run_id} of {manifest.generator}"
    )
    if export.run.results.losses:
        notes = f"{notes}; {export.run.results.losses}"
    if export.run.fresh:
        notes = f"{notes}; public minus fresh users {with_interval(export.run.fresh.gap)}"
    entry = EvalResultEntry(
        dataset_id=repo,
        task_id=task,
        value=round(score.value, 4),
        dataset_revision=revision or None,
        date=export.made_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        source_url=export.source or f"{DATA_SETS}/{repo}",
        source_name=f"Run {manifest.run_id}" if export.source else "Data set",
        notes=notes,
    )
    content = yaml.safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True, width=1_000)
    path = f".eval_results/{path_part(repo)}-{task}.yaml"
    write_files(export.folder, {path: content.encode()})
    return [f"{export.folder / path} belongs into the repository of {model}.", *unchecked]


def _task_of(manifest: RunManifest) -> str:
    memory = manifest.memory
    task = task_id(manifest.variant, memory=memory.name, tokens=manifest.tokens)
    if task is None or find_memory(memory.name) != memory:
        known = ", ".join((NO_MEMORY, *MEMORIES))
        budgets = " or ".join(str(tokens) for tokens in BUDGETS)
        raise EvaluationError(
            f"The Hub's boards are for the memories {known} with --tokens {budgets}; this run is of {memory.name} with "
            f"{manifest.tokens}, or with settings of its own."
        )
    return task


def _unchecked_release(manifest: RunManifest) -> list[str]:
    """Return a sentence where the release is not here. Raises EvaluationError for a run over a part, or another release."""
    try:
        released = read_manifest(home().releases / manifest.variant / manifest.version)
    except ManifestError:
        return [f"{manifest.dataset} is not on this machine, so it was not checked that the run is over all of it."]
    items = released.counts.get(f"{manifest.noun}s", 0)
    if released.digest != manifest.dataset_digest or len(manifest.users) < items:
        raise EvaluationError(
            f"{manifest.run_id} is over {len(manifest.users)} of {counted(items, manifest.noun)}, or of another "
            f"{manifest.dataset}; evaluate the whole release."
        )
    return []
