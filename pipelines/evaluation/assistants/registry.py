"""Assistants by name or file: built-in kinds, kinds of installed packages, and the reference code's agent files."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from pipelines.evaluation.assistant import Assistant, AssistantFactory, Tools
from pipelines.evaluation.assistants.chat import LongContextAssistant
from pipelines.evaluation.assistants.indexed import AweAssistant, RagAssistant
from pipelines.evaluation.assistants.mem0 import Mem0Assistant, Mem0GraphAssistant
from pipelines.evaluation.assistants.mem0_library import library_version
from pipelines.evaluation.assistants.notes import AwiAssistant
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.records import AssistantSpec

GROUP = "amemgym.assistants"
BUILT_IN: dict[str, AssistantFactory] = {
    "llm": LongContextAssistant,
    "rag": RagAssistant,
    "awe": AweAssistant,
    "awi": AwiAssistant,
    "mem0": Mem0Assistant,
    "mem0-graph": Mem0GraphAssistant,
}
EMBEDDING_KINDS = ("rag", "awe", "mem0", "mem0-graph")
CONFIGURATIONS = Path(__file__).parent / "configurations.yaml"
REFERENCE_KINDS = {"native": "llm", "rag": "rag", "awe": "awe", "awi": "awi"}
REFERENCE_SETTINGS = {
    ("llm_config", "llm_model"): "model",
    ("llm_config", "temperature"): "temperature",
    ("llm_config", "max_tokens"): "max_output_tokens",
    ("agent_config", "update_bsz"): "freq",
    ("agent_config", "local_length"): "ns",
    ("agent_config", "top_k"): "topk",
    ("memory_config", "embedder", "config", "model"): "embedding_model",
}


@cache
def configurations() -> dict[str, AssistantSpec]:
    """The named assistants, and one for each installed kind under the kind's name."""
    content: dict[str, Any] = yaml.safe_load(CONFIGURATIONS.read_text(encoding="utf-8"))
    named = {name: AssistantSpec(name=name, **fields) for name, fields in content.items()}
    return {**{name: AssistantSpec(name=name, kind=name) for name in _plugged_in()}, **named}


def find_spec(name_or_file: str) -> AssistantSpec:
    """The assistant of that name, or the one that a YAML or JSON file describes. Raises EvaluationError."""
    path = Path(name_or_file)
    if path.suffix in (".yaml", ".yml", ".json"):
        return _from_file(path)
    if name_or_file not in configurations():
        known = ", ".join(configurations())
        raise EvaluationError(f"There is no assistant {name_or_file!r}; there are {known}, or give a YAML or JSON file.")
    return configurations()[name_or_file]


def make_assistant(spec: AssistantSpec, tools: Tools) -> Assistant:
    """A new assistant that remembers nothing. Raises EvaluationError for an unknown kind or wrong settings."""
    try:
        return factory_of_kind(spec.kind)(spec.settings, tools)
    except ValueError as error:
        raise EvaluationError(f"Assistant {spec.name!r} cannot be made: {error}") from error


def kind_version(kind: str) -> str:
    """Names and versions of the packages that bring the kind; they are part of a run's identity."""
    if kind in ("mem0", "mem0-graph"):
        return library_version()
    point = _plugged_in().get(kind)
    return f"{point.dist.name} {point.dist.version}" if point is not None and point.dist is not None else "built in"


def factory_of_kind(kind: str) -> AssistantFactory:
    """What makes assistants of the kind. Raises EvaluationError when no package brings it, or not as it says."""
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    point = _plugged_in().get(kind)
    if point is None:
        known = ", ".join([*BUILT_IN, *_plugged_in()])
        raise EvaluationError(f"There is no assistant of kind {kind!r}; there are {known}. Is its package installed?")
    try:
        return cast(AssistantFactory, point.load())
    except (ImportError, AttributeError, SyntaxError) as error:
        raise EvaluationError(
            f"The package that brings the kind {kind!r} cannot be imported from {point.value!r}: {error}; install it anew, "
            "with all that it needs."
        ) from error


def _plugged_in() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _from_file(path: Path) -> AssistantSpec:
    try:
        content: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvaluationError(f"The assistant's file {path} cannot be read: {error.strerror}.") from error
    except yaml.YAMLError as error:
        raise EvaluationError(
            f"The assistant's file {path} is neither YAML nor JSON: {' '.join(str(error).split())}."
        ) from error
    if not isinstance(content, dict):
        raise EvaluationError(f"The assistant's file {path} must hold the keys 'kind' and 'settings'.")
    fields = cast(dict[str, Any], content)
    return from_reference(fields) if "type" in fields else _own(fields, path=path)


def _own(fields: Mapping[str, Any], *, path: Path) -> AssistantSpec:
    try:
        return AssistantSpec.model_validate({"name": path.stem, **fields})
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise EvaluationError(f"The assistant's file {path} is wrong at {key!r}: {problem['msg'].lower()}.") from error


def from_reference(content: Mapping[str, Any]) -> AssistantSpec:
    """The assistant of an agent file of the paper's code; its address and its key are never read."""
    kind = REFERENCE_KINDS.get(str(content["type"]))
    if kind is None:
        raise EvaluationError(f"Agents of type {content['type']!r} cannot be imported; only {', '.join(REFERENCE_KINDS)}.")
    if kind == "awe" and not _at(content, ("agent_config", "enable_llm_mem_policy"), default=True):
        kind = "rag"
    values = {setting: _at(content, keys) for keys, setting in REFERENCE_SETTINGS.items()}
    unused = {"llm": {"freq", "ns", "topk", "embedding_model"}, "awi": {"topk", "embedding_model"}}.get(kind, set[str]())
    settings = {name: value for name, value in values.items() if value is not None and name not in unused}
    return AssistantSpec(name=str(content.get("name") or kind), kind=kind, settings=settings)


def _at(content: Mapping[str, Any], keys: tuple[str, ...], *, default: object = None) -> Any:
    value: Any = content
    for key in keys:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    return default if value is None else value
