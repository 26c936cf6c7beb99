"""A small evolution for tests: notes hold what the policy names, and the improver names what the feedback holds."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.llm.ports import LanguageModel, ModelRequest
from pipelines.evaluation.folder import RunFolder
from pipelines.experiments.evolution.command import evolve_and_write
from pipelines.experiments.evolution.loop import Evolution
from pipelines.experiments.evolution.plan import EvolutionPlan, evolution_manifest
from pipelines.experiments.evolution.results import FinishedEvolution
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import MODELS, HonestModel, believed, fenced, run_of, tasks
from tests.support.coroutines import run

FIRST = "- the weather where the user lives"
AWI = MemorySpec(name="awi", kind="awi", settings={"freq": 2, "ns": 0, "policy": FIRST})


def plain(name: str) -> str:
    """A variable's name as words that a policy may hold."""
    return name.replace("{", "").replace("}", "")


def named_only(request: ModelRequest) -> object:
    """Notes of the stated variables that the policy in force names."""
    kinds = fenced(request.messages[0].content, "kinds")
    stated = believed(replace(request, messages=(request.messages[-1], request.messages[-1])))
    return {name: json.dumps({name: value}) for name, value in stated.items() if plain(name) in kinds}


def name_the_updates(request: ModelRequest) -> dict[str, Any]:
    """The section and a line for each variable of the feedback's updates."""
    section = fenced(request.messages[1].content, "current_section")
    feedback = json.loads(fenced(request.messages[1].content, "feedback"))
    updated = dict.fromkeys(name for summary in feedback for name in summary.get("user_information_updates", {}))
    new = [f"- {plain(name)}" for name in updated if plain(name) not in section]
    return {"new_types": "\n".join([section, *new]), "changes": [f"named {name[2:]}" for name in new]}


def supported(request: ModelRequest) -> object:
    """Yes where the memory has the claim's variable and value side by side."""
    memory = fenced(request.messages[1].content, "memory")
    claims = {number: claim.split(": ") for number, claim in json.loads(fenced(request.messages[1].content, "claims")).items()}
    return {number: "yes" if json.dumps({name: value}) in memory else "no" for number, (name, value) in claims.items()}


LEARNING: dict[str, Any] = {
    "memories/update_notes": named_only,
    "evaluation/improve_policy": name_the_updates,
    "evaluation/check_memory": supported,
}


def learner(script: Mapping[str, Any] | None = None, **fields: Any) -> HonestModel:
    """A model that learns, but for the prompts that the script names."""
    return HonestModel({**LEARNING, **(script or {})}, **fields)


def evolution_of(folder: Path, model: LanguageModel, *, users: tuple[str, ...] = ("ada", "ben"), **plan: Any) -> Evolution:
    """An evolution in the folder; the plan's fields by keyword."""
    data = tasks(*users)
    evaluation = run_of(folder, model, data=data, spec=AWI, conditions=())
    manifest = evolution_manifest(
        data.dataset, EvolutionPlan(**plan), run=evaluation.manifest, initial_policy=FIRST, improver=MODELS["memory"]
    )
    place = RunFolder(folder / manifest.run.run_id)
    return Evolution(manifest, replace(evaluation, manifest=manifest.run, folder=place), data)


def evolved(work: Evolution) -> FinishedEvolution:
    """The finished evolution, with its files written."""
    return run(evolve_and_write(work))


def files(work: Evolution) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(work.run.folder.path.iterdir())}
