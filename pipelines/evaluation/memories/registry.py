"""Memories by name, file or address, and what their code is: built in, of an installed package, or a file's class."""

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec as find_module
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from assets.recipe.loading import nearest_first
from pipelines.evaluation.contract import MemoryTools
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.hosting import MemoryHost
from pipelines.evaluation.memories.amem import AMemMemory
from pipelines.evaluation.memories.mem0 import Mem0GraphMemory, Mem0Memory
from pipelines.evaluation.memories.mem0_library import library_version
from pipelines.evaluation.memories.nemori import NemoriMemory
from pipelines.evaluation.memories.notes import AwiMemory
from pipelines.evaluation.memories.own_code import own_files, search_folder_of
from pipelines.evaluation.memories.plain import FullHistory, NoMemory, RollingSummary, WindowMemory
from pipelines.evaluation.memories.retrieval import AweMemory, Bm25Memory, RagMemory
from pipelines.evaluation.memories.services import HttpMemory, McpMemory, ProviderMemory
from pipelines.evaluation.records import MemorySpec, Setting

GROUP = "amemgym.memories"
FOLDER = Path(__file__).parent
Factory = Callable[..., object]
BUILT_IN: dict[str, Factory] = {
    "none": NoMemory,
    "full-history": FullHistory,
    "window": WindowMemory,
    "summary": RollingSummary,
    "bm25": Bm25Memory,
    "rag": RagMemory,
    "awe": AweMemory,
    "awi": AwiMemory,
    "a-mem": AMemMemory,
    "nemori": NemoriMemory,
    "http": HttpMemory,
    "mcp": McpMemory,
    "provider": ProviderMemory,
    "mem0": Mem0Memory,
    "mem0-graph": Mem0GraphMemory,
}
EMBEDDING = ("rag", "awe", "a-mem", "nemori", "mem0", "mem0-graph")
# Model calls for one event that is written, about; of memories that are not listed nobody knows.
WRITING_CALLS = {"summary": 0.25, "awe": 1.0, "awi": 0.5, "a-mem": 2.0, "nemori": 0.6, "mem0": 0.5, "mem0-graph": 0.5}
SERVICES = ("http", "mcp", "provider")
MODELS = ("model", "embedding_model")  # settings of every kind
REFERENCE_KINDS = {"native": "full-history", "rag": "rag", "awe": "awe", "awi": "awi"}
REFERENCE_SETTINGS = {
    ("llm_config", "llm_model"): "model",
    ("agent_config", "update_bsz"): "freq",
    ("agent_config", "local_length"): "ns",
    ("agent_config", "top_k"): "topk",
    ("memory_config", "embedder", "config", "model"): "embedding_model",
}


@cache
def named_memories() -> dict[str, MemorySpec]:
    """The named memories, and one for each installed kind under the kind's name."""
    content: dict[str, Any] = yaml.safe_load((FOLDER / "memories.yaml").read_text(encoding="utf-8"))
    named = {name: MemorySpec(name=name, **fields) for name, fields in content.items()}
    return {**{name: MemorySpec(name=name, kind=name) for name in _plugged_in()}, **named}


def find_memory(source: str) -> MemorySpec:
    """The memory of that name, of a class in a file (`my.py:Class`), at an address, or that a YAML or JSON file describes.

    Raises EvaluationError.
    """
    protocol, _, address = source.partition("+")
    if protocol == "mcp" and "://" in address:
        return MemorySpec(name="mcp", kind="mcp", settings={"address": address})
    if protocol == "provider" and ":" in address:
        return MemorySpec(name=address.rpartition(":")[2], kind="provider", settings={"address": address})
    if source.startswith(("http://", "https://")):
        return MemorySpec(name=source.partition("://")[2].partition("/")[0], kind="http", settings={"address": source})
    path, _, attribute = source.rpartition(":")
    if path.endswith(".py"):
        return MemorySpec(name=attribute, kind=f"{Path(path).resolve()}:{attribute}")
    if source.endswith(".py"):
        raise EvaluationError(f"{source!r} names no class; give the one that is the memory, as in {source}:MyMemory.")
    if source.endswith((".yaml", ".yml", ".json")):
        return _from_file(Path(source))
    if source not in named_memories():
        known = nearest_first(source, named_memories())
        raise EvaluationError(
            f"There is no memory {source!r}. The memories are: {known}. Or give FILE.py:CLASS or a YAML file."
        )
    return named_memories()[source]


def host_memory(spec: MemorySpec, tools: MemoryTools, **limits: float) -> MemoryHost:
    """What makes the memories of one item. `tools` are for the run's models; settings may name others.

    Raises EvaluationError for an unknown kind or wrong settings.
    """
    factory = factory_of(spec.kind)
    own = {name: str(value) for name in MODELS if (value := spec.settings.get(name))}
    tools = replace(
        tools,
        model_name=own.get("model", tools.model_name),
        embedding_model=own.get("embedding_model", tools.embedding_model),
    )
    settings = {name: value for name, value in spec.settings.items() if name not in MODELS}
    if spec.kind in BUILT_IN:
        settings = _checked(spec.name, factory, settings)
    if is_ours(spec.kind):
        return MemoryHost(spec.name, lambda tools: factory(tools, **settings), tools)
    takes_tools = "tools" in signature(factory).parameters
    return MemoryHost.of_others(
        spec.name, lambda tools: factory(**settings, **({"tools": tools} if takes_tools else {})), tools, **limits
    )


def _checked(name: str, factory: Factory, settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The settings by the types of the class's own parameters."""
    hints = get_type_hints(cast(type, factory).__init__, include_extras=True)
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], parameter.default)
        for parameter in signature(factory).parameters.values()
        if parameter.kind == Parameter.KEYWORD_ONLY
    }
    kind: type[BaseModel] = create_model("Settings", __config__=ConfigDict(extra="forbid"), **fields)
    try:
        return kind.model_validate(dict(settings)).model_dump()
    except ValidationError as error:
        problem = error.errors()[0]
        known = ", ".join([*fields, *MODELS])
        raise EvaluationError(
            f"The setting {'.'.join(map(str, problem['loc']))!r} of memory {name!r} cannot be used: {problem['msg'].lower()}; "
            f"there are {known}."
        ) from error


def factory_of(kind: str) -> Factory:
    """What makes memories of the kind. Raises EvaluationError when nobody brings it, or not as it says."""
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    path, _, attribute = kind.rpartition(":")
    if path.endswith(".py"):
        return _from_source(Path(path), attribute)
    point = _plugged_in().get(kind)
    if point is None:
        known = nearest_first(kind, [*BUILT_IN, *_plugged_in()])
        raise EvaluationError(f"There is no memory of kind {kind!r}. The kinds are: {known}. Is its package installed?")
    try:
        return cast(Factory, point.load())
    except (Exception, SystemExit) as error:  # anything may come out of foreign code
        raise EvaluationError(
            f"The package that brings the kind {kind!r} cannot be imported from {point.value!r}: {error}; install it anew, "
            "with all that it needs."
        ) from error


@cache
def _from_source(path: Path, attribute: str) -> Factory:
    """The class of that name in the file; its folder is searched for what it imports."""
    if not path.is_file():
        raise EvaluationError(f"There is no file {path} with a memory; give FILE.py:CLASS.")
    search_folder_of(path)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
        found = getattr(module, attribute)
    except (Exception, SystemExit) as error:  # anything may come out of foreign code
        raise EvaluationError(f"{path} has no usable class {attribute!r}: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise EvaluationError(f"{path} has no usable class {attribute!r}: it is a value of type {type(found).__name__}.")
    return found


def is_ours(kind: str) -> bool:
    """Whether the code behind the kind is ours, and so needs neither a thread nor a check."""
    return kind in BUILT_IN and kind not in SERVICES


def embeds(kind: str) -> bool:
    """Whether the memory may ask for embeddings; of code that is not ours nobody knows."""
    return kind in EMBEDDING or not is_ours(kind)


def memory_version(kind: str) -> str:
    """Names and versions of the packages that bring the kind."""
    if kind in ("mem0", "mem0-graph"):
        return library_version()
    point = _plugged_in().get(kind)
    return f"{point.dist.name} {point.dist.version}" if point is not None and point.dist is not None else ""


def source_digest(kind: str) -> str:
    """A digest of the code that the memory consists of: its package, or its file and what that imports from its folder."""
    factory = factory_of(kind)
    if kind in BUILT_IN:
        files = list(FOLDER.glob("*.py"))
    elif kind.rpartition(":")[0].endswith(".py"):
        files = list(own_files(Path(kind.rpartition(":")[0])))
    else:
        files = _package_files(factory.__module__.partition(".")[0])
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _package_files(package: str) -> list[Path]:
    spec = find_module(package)
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    if places:
        return [path for place in places for path in place.rglob("*.py")]
    return [Path(spec.origin)] if spec and spec.origin else []


def _plugged_in() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _from_file(path: Path) -> MemorySpec:
    try:
        content: object = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvaluationError(f"The memory's file {path} cannot be read: {error.strerror}.") from error
    # A file that is not UTF-8 is a ValueError.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise EvaluationError(f"The memory's file {path} is neither YAML nor JSON: {' '.join(str(error).split())}.") from error
    if not isinstance(content, dict):
        raise EvaluationError(f"The memory's file {path} must hold the keys 'kind' and 'settings'.")
    fields = cast(dict[str, Any], content)
    return from_reference(fields) if "type" in fields else _own(fields, path=path)


def _own(fields: Mapping[str, Any], *, path: Path) -> MemorySpec:
    try:
        return MemorySpec.model_validate({"name": path.stem, **fields})
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise EvaluationError(f"The memory's file {path} is wrong at {key!r}: {problem['msg'].lower()}.") from error


def from_reference(content: Mapping[str, Any]) -> MemorySpec:
    """The memory of an agent file of the paper's code; its address and its key are never read."""
    kind = REFERENCE_KINDS.get(str(content["type"]))
    if kind is None:
        raise EvaluationError(f"Agents of type {content['type']!r} cannot be imported; only {', '.join(REFERENCE_KINDS)}.")
    if kind == "awe" and not _at(content, ("agent_config", "enable_llm_mem_policy"), default=True):
        kind = "rag"
    values = {setting: _at(content, keys) for keys, setting in REFERENCE_SETTINGS.items()}
    unused = {"full-history": {"freq", "ns", "topk"}, "awi": {"topk"}}.get(kind, set[str]())
    settings = {name: value for name, value in values.items() if value is not None and name not in unused}
    return MemorySpec(name=str(content.get("name") or kind), kind=kind, settings=settings)


def _at(content: Mapping[str, Any], keys: tuple[str, ...], *, default: object = None) -> Any:
    value: Any = content
    for key in keys:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    return default if value is None else value
