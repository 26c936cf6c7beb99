"""A run before its first call: everything that decides its results, and the name that follows from it."""

import re
from collections.abc import Mapping
from importlib.metadata import version as installed_version
from typing import Any

from assets.recipe.model_policy import Models
from assets.recipe.recipe import Budget
from assets.records.base import Name, Record
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.records import RunManifest, RunSettings
from pipelines.evaluation.run import BenchmarkTasks, DatasetInfo
from pipelines.memories.code_identity import code_files, memory_version, source_digest
from pipelines.memories.contract import MemorySpec
from pipelines.memories.registry import boundary_of, is_ours
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"
MOST_WORDS = 150  # characters of a run's id before its digest


class RunAccount(Record):
    """The account of calls outside generation: the name of their run as the variant, and what that may cost."""

    variant: Name
    budget: Budget = Budget()
    models: Models = Models()

    @property
    def item_fingerprint(self) -> str:
        return self.sha256()[:16]


MEMORY_CHECK = RunAccount(variant="memory-check")


def manifest_of(
    tasks: BenchmarkTasks,
    spec: MemorySpec,
    options: EvaluationOptions,
    *,
    models: dict[str, str],
    places: tuple[str, ...] = (),
) -> RunManifest:
    """Return the run's manifest; equal plans have equal ids.

    Raises EvaluationError for options or a memory that cannot be used.
    """
    options.check()
    info = tasks.info
    own = tasks.own_settings(options, whole=spec.whole)
    _refuse_options_of_others(options, own, info, whole=spec.whole)
    tokens = options.tokens or info.tokens
    # In the order of names, whatever the file's; a setting of nothing is one that is left out.
    settings = {name: value for name, value in sorted(spec.settings.items()) if value is not None}
    if options.wording == "paper" and spec.kind == "awi":
        settings["wording"] = "paper"
    conditions = list[str]()
    # A whole agent does not answer with our reasoner, so that there is nothing to compare it with.
    if not spec.whole:
        conditions = [name for name in CONDITIONS if name in options.conditions]
    # A run with another prompt is another run.
    prompts = dict[str, str]()
    for name in prompt_names():
        if name.startswith(info.prompts):
            prompts[name] = load_prompt(name).fingerprint
    files = code_files(spec.code, texts=spec.texts)
    content: dict[str, Any] = {
        **options.model_dump(include=set(RunSettings.model_fields)),
        "benchmark": info.benchmark,
        "noun": info.noun,
        "dataset": info.name,
        "dataset_digest": info.digest,
        "users": info.users,
        "language": info.language,
        "memory": {**spec.model_dump(), "settings": settings},
        "memory_version": memory_version(spec.kind),
        "memory_source": source_digest(files),
        "memory_files": tuple(files) if ".py:" in spec.kind else (),
        "boundary": boundary_of(spec, in_process=options.in_process),
        "tokens": tokens,
        "curve": sorted({*options.curve} - {tokens}),
        "conditions": tuple(conditions),
        "models": models,
        "places": places,
        "prompts": prompts,
        "generator": f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        "extra_body": options.extra_body_of(models),
        "settle": 0.0 if is_ours(spec.kind) else options.settle,
        **own,
    }
    manifest = RunManifest(run_id="unnamed", **content)
    # The memory keeps its location, by which it is reached and which no file holds.
    memory = spec.model_copy(update={"settings": settings})
    return manifest.model_copy(update={"run_id": run_id_of(manifest), "memory": memory})


def run_id_of(manifest: RunManifest) -> str:
    """Return the id that follows from all other fields of a manifest, as its file holds them.

    It begins with words, for whoever looks into the folder of runs.
    """
    title = f"{manifest.dataset} {manifest.memory.name} {'off-policy' if manifest.is_off_policy else ''}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title)[:MOST_WORDS].strip("-")
    content = manifest.shared().model_dump(mode="json", exclude={"run_id"})
    return f"{slug}-{canonical_digest(content)[:12]}"


def _refuse_options_of_others(options: EvaluationOptions, own: Mapping[str, object], info: DatasetInfo, *, whole: bool) -> None:
    """Raise EvaluationError for an option that means nothing here.

    `own`: the settings that the benchmark has; `whole`: a whole agent is asked.
    """
    if options.recall_at and "recall_at" not in own:
        raise EvaluationError(f"recall_at is for tool dialogues, in which an agent acts; {info.name} only asks questions.")
    if options.native_tools and "native_tools" not in own:
        raise EvaluationError(f"native_tools is for dialogues in which an agent acts; {info.name} only asks questions.")
    if options.window and "window" not in own:
        raise EvaluationError(f"window is for tau2, swe and webarena, whose episodes leave it; {info.name} has none that do.")
    if options.settle and whole:
        raise EvaluationError("settle waits before a memory is asked; a whole agent waits itself, before it answers.")
    if options.arms and ("none" not in options.conditions or whole):
        raise EvaluationError("arms compare with no memory: they need the condition none, and our reasoner.")
