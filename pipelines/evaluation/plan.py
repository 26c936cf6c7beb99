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
from pipelines.evaluation.arms import ARMS
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.memories.code_identity import memory_version, source_digest
from pipelines.memories.contract import MAX_REPLY_TOKENS, MemorySpec
from pipelines.memories.registry import boundary_of, is_ours
from prompts.catalogue import load_prompt, prompt_names

DISTRIBUTION = "amemgym-synth"


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
    _refuse_options_of_others(options, own, name=info.name)
    tokens = info.tokens if options.tokens is None else options.tokens
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
    content: dict[str, Any] = {
        "benchmark": info.benchmark,
        "noun": info.noun,
        "dataset": info.name,
        "dataset_digest": info.digest,
        "users": info.users,
        "language": info.language,
        "memory": {**spec.model_dump(), "settings": settings},
        "memory_version": memory_version(spec.kind),
        "memory_source": source_digest(spec.code),
        "boundary": boundary_of(spec, in_process=options.in_process),
        "tokens": tokens,
        "curve": sorted({*options.curve} - {tokens}),
        "conditions": tuple(conditions),
        "models": models,
        "places": places,
        "seed": options.seed,
        "attempt": options.attempt,
        "prompts": prompts,
        "generator": f"{DISTRIBUTION} {installed_version(DISTRIBUTION)}",
        **own,
    }
    content |= _unusual_options(options, spec=spec, models=models)
    # The id begins with words, for whoever looks into the folder of runs.
    title = f"{info.name} {spec.name} {'off-policy' if own['mode'] == 'off-policy' else ''}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-")
    run_id = f"{slug}-{canonical_digest(content)[:12]}"
    # The memory keeps its location, by which it is reached and which no file holds.
    memory = spec.model_copy(update={"settings": settings})
    return RunManifest(run_id=run_id, **content).model_copy(update={"memory": memory})


def _refuse_options_of_others(options: EvaluationOptions, own: Mapping[str, object], *, name: str) -> None:
    """Raise EvaluationError for an option that this benchmark has no setting for. `name`: that of the dataset."""
    if options.recall_at and "recall_at" not in own:
        raise EvaluationError(f"--recall-at is for tool dialogues, in which an agent acts; {name} only asks questions.")
    if options.native_tools and "native_tools" not in own:
        raise EvaluationError(f"--native-tools is for dialogues in which an agent acts; {name} only asks questions.")
    if options.window is not None and "window" not in own:
        raise EvaluationError(
            f"--window is for tau2, swe and webarena, whose episodes leave the window; {name} has none that do."
        )


def _unusual_options(options: EvaluationOptions, *, spec: MemorySpec, models: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of options that most runs leave alone: without them a run has the id that it had before they came.

    Raises EvaluationError for an option that means nothing for this memory.
    """
    fields: dict[str, Any] = {}
    extra_body = options.extra_body_of(models)
    if extra_body:
        fields["extra_body"] = extra_body
    if options.settle and spec.whole:
        raise EvaluationError("--settle waits before a memory is asked; a whole agent waits itself, before it answers.")
    if options.settle and not is_ours(spec.kind):
        fields["settle"] = options.settle
    if options.arms:
        if "none" not in options.conditions or spec.whole:
            raise EvaluationError("--arms compares with no memory: it needs the condition none, and our reasoner.")
        fields["arms"] = ARMS
    if options.reply_tokens != MAX_REPLY_TOKENS:
        fields["reply_tokens"] = options.reply_tokens
    return fields
