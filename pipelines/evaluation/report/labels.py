"""What runs are called beside each other: the assistant's name, and whatever tells one run from another."""

from collections.abc import Callable, Mapping, Sequence

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import settings_told

Facts = Callable[[RunManifest], Mapping[str, str]]


def labels(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """A name for each run by its id, no two alike.

    It tells the facts in which the runs differ; where those leave runs alike, also the details in which these differ, and
    at last the end of the id.
    """
    every = list({run.manifest.run_id: run.manifest for run in runs}.values())
    told = _telling(every, _facts)
    names = {one.run_id: ", ".join([one.assistant.name, *told[one.run_id]]) for one in every}
    for facts in (_details, _number):
        for alike in _alike(every, names):
            for run_id, words in _telling(alike, facts).items():
                names[run_id] = ", ".join([names[run_id], *words])
    return names


def _alike(every: Sequence[RunManifest], names: Mapping[str, str]) -> list[list[RunManifest]]:
    groups: dict[str, list[RunManifest]] = {}
    for one in every:
        groups.setdefault(names[one.run_id], []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _telling(every: Sequence[RunManifest], facts: Facts) -> dict[str, list[str]]:
    """By run id, the facts that are not the same for all of these runs."""
    found = {one.run_id: facts(one) for one in every}
    names = dict.fromkeys(name for one in found.values() for name in one)
    apart = [name for name in names if len({one.get(name) for one in found.values()}) > 1]
    return {run_id: [one[name] for name in apart if name in one] for run_id, one in found.items()}


def _facts(manifest: RunManifest) -> Mapping[str, str]:
    return {
        "mode": manifest.mode,
        "model": str(manifest.assistant.settings.get("model")),
        "attempt": f"attempt {manifest.attempt}",
        "seed": f"seed {manifest.seed}",
        "users": f"{len(manifest.users)} users",
        "simulator": f"user simulated by {manifest.simulator}",
        "generator": manifest.generator,
    }


def _details(manifest: RunManifest) -> Mapping[str, str]:
    told = {
        "version": manifest.assistant_version,
        "embedding": f"embeddings by {manifest.embedding}",
        "judge": f"user checked by {manifest.judge}",
        "replayed": f"dialogues of {manifest.replayed_run}",
    }
    return {**settings_told(manifest.assistant), **told}


def _number(manifest: RunManifest) -> Mapping[str, str]:
    return {"id": f"run ...{manifest.run_id[-6:]}"}
