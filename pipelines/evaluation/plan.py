"""A run before its first call: everything that decides its results, and the name that follows from it."""

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version as installed_version
from types import MappingProxyType
from typing import Any

from assets.recipe.model_policy import Models
from assets.recipe.recipe import Budget
from assets.records.base import Name, Record
from dataset_card.release.digests import canonical_digest
from pipelines.errors import EvaluationError
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.records import ITSELF, RunManifest, RunSettings
from pipelines.evaluation.run import BenchmarkTasks, DatasetInfo
from pipelines.evaluation.timeline.steps import Ask
from pipelines.memories.code_identity import code_files, memory_version, source_digest
from pipelines.memories.contract import MemorySpec
from pipelines.memories.hosting.confinement import boundary_of
from pipelines.memories.kinds import is_ours
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"
MOST_WORDS = 150  # characters of a run's id before its digest


class RunAccount(Record):
    """The account of calls outside generation: the name of their run as the variant, and what that may cost.

    `batched`: some of its calls go in batch jobs.
    """

    variant: Name
    budget: Budget = Budget()
    models: Models = Models()
    batched: bool = False

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
    places: Mapping[str, str] = MappingProxyType({}),
) -> RunManifest:
    """Return the run's manifest; equal plans have equal ids. `places`: what serves each model.

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
        "memory_version": memory_version(spec.kind, python=spec.interpreter),
        "memory_source": source_digest(files),
        "memory_files": tuple(files) if ".py:" in spec.kind else (),
        "boundary": boundary_of(spec, in_process=options.in_process),
        "tokens": tokens,
        "curve": sorted({*options.curve} - {tokens}),
        "conditions": tuple(conditions),
        "models": models,
        "places": _places_of([*models.values(), *options.more_models], places),
        # A run with another prompt is another run.
        "prompts": {name: load_prompt(name).fingerprint for name in prompt_names() if name.startswith(info.prompts)},
        "generator": f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        "extra_body": options.extra_body_of(models),
        "settle": 0.0 if is_ours(spec.kind) else options.settle,
        **own,
    }
    manifest = RunManifest(run_id="unnamed", **content)
    if _asks_alone(tasks, manifest):
        manifest = manifest.model_copy(update={"alone": alone_manifest(manifest, places=places).run_id})
    # The memory keeps its location, by which it is reached and which no file holds.
    memory = spec.model_copy(update={"settings": settings})
    return manifest.model_copy(update={"run_id": run_id_of(manifest), "memory": memory})


def alone_manifest(manifest: RunManifest, *, places: Mapping[str, str]) -> RunManifest:
    """Return the manifest of the run that asks what is the same for every memory: of `manifest`, what bears on these answers.

    `places`: what serves each model.
    """
    reasoner = manifest.models["assistant"]
    extra_body = {role: fields for role, fields in manifest.extra_body.items() if role == "assistant"}
    prompts = {name: mark for name, mark in manifest.prompts.items() if not name.startswith("memories/")}
    changes: dict[str, Any] = {
        "memory": MemorySpec(name="no memory", kind="none"),
        "memory_version": "",
        "memory_source": "",
        "memory_files": (),
        "boundary": "",
        "models": {"assistant": reasoner},
        "places": _places_of([reasoner], places),
        "prompts": prompts,
        "attempt": 0,
        "curve": (),
        "arms": (),
        "more_models": (),
        "probes": "none",
        "settle": 0.0,
        "extra_body": extra_body,
        "replayed_run": "",
        "alone": ITSELF,
    }
    alone = manifest.model_copy(update=changes)
    return alone.model_copy(update={"run_id": run_id_of(alone)})


def _asks_alone(tasks: BenchmarkTasks, manifest: RunManifest) -> bool:
    """Return True where the run has conditions or baselines that are asked without a life of their own."""
    for timeline in tasks.timelines(manifest):
        for step in timeline.in_run(alone=True).steps:
            if isinstance(step, Ask) and (manifest.conditions or not step.needs_memory):
                return True
    return False


def _places_of(models: Iterable[str], places: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({places[name] for name in models if places.get(name)}))


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
    if options.questions and "questions" not in own:
        raise EvaluationError(f"questions is for AMemGym; {info.name} takes --users, which are {info.noun}s.")
    if options.native_tools and "native_tools" not in own:
        raise EvaluationError(f"native_tools is for dialogues in which an agent acts; {info.name} only asks questions.")
    if options.batch and "native_tools" in own:
        raise EvaluationError(f"batch is for questions; the agent of {info.name} waits for each reply before it acts.")
    if options.window and "window" not in own:
        raise EvaluationError(f"window is for tau2, swe and webarena, whose episodes leave it; {info.name} has none that do.")
    if options.settle and whole:
        raise EvaluationError("settle waits before a memory is asked; a whole agent waits itself, before it answers.")
    if options.arms and ("none" not in options.conditions or whole):
        raise EvaluationError("arms compare with no memory: they need the condition none, and our reasoner.")
