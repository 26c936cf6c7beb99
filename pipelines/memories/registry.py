"""Memories by name, file or address, and what their code is: built in, of an installed package, or a file's class."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, signature
from pathlib import Path
from string import Template
from typing import Any, cast, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from assets.isolation.boundary import available_kind
from assets.recipe.loading import nearest_first
from pipelines.errors import EvaluationError
from pipelines.memories.built_in.amem import AMemMemory
from pipelines.memories.built_in.base import CopiedMemory
from pipelines.memories.built_in.mem0 import Mem0GraphMemory, Mem0Memory
from pipelines.memories.built_in.nemori import NemoriMemory
from pipelines.memories.built_in.notes import AwiMemory
from pipelines.memories.built_in.plain import FullHistory, NoMemory, RollingSummary, WindowMemory
from pipelines.memories.built_in.retrieval import AweMemory, Bm25Memory, RagMemory
from pipelines.memories.code_thread import TOOLS, is_asynchronous, module_of_file, settings_problem
from pipelines.memories.contract import MemorySpec, MemoryTools, Setting
from pipelines.memories.hosting import DEADLINE, MemoryHost
from pipelines.memories.mcp_server import McpMemory, command_spec
from pipelines.memories.others.process import ForeignCode, MemoryProcess
from pipelines.memories.others.shown import import_path, shown_of_file, shown_of_packages
from pipelines.memories.own_code import search_folder_of
from pipelines.memories.perturbed import PERTURBATIONS, PERTURBED
from pipelines.memories.provider import ProviderMemory
from pipelines.memories.services import HttpMemory, from_environment, service_spec
from pipelines.memories.settings import VARIABLE, refuse_secrets, settings_suffix, split_settings
from pipelines.redaction import public_address

GROUP = "amemgym.memories"
FOLDER = Path(__file__).parent
Factory = Callable[..., object]
OURS: dict[str, type[CopiedMemory]] = {
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
    "mem0": Mem0Memory,
    "mem0-graph": Mem0GraphMemory,
}
ADDRESSED: dict[str, Factory] = {"http": HttpMemory, "mcp": McpMemory}
BUILT_IN: dict[str, Factory] = {**OURS, **ADDRESSED, "provider": ProviderMemory}
DESCRIPTIONS = (".yaml", ".yml", ".json")
MODELS = ("model", "embedding_model")  # settings of every kind
PLACES = ("address", "command")  # of services; a spec's location is the whole one
WRITTEN_IN_FILES = ("address", "headers", "command", "environment")  # of services: checked as a whole, for secrets in them
NETWORK = "network"  # the setting by which a memory of others declares that it needs the network
IN_PROCESS = "in-process"
PROCESS_ALONE = "process"  # of its own, on a machine that gives no boundary


@cache
def named_memories() -> dict[str, MemorySpec]:
    """The named memories, and one for each installed kind under the kind's name."""
    content: dict[str, Any] = yaml.safe_load((FOLDER / "memories.yaml").read_text(encoding="utf-8"))
    found = {name: MemorySpec(name=name, kind=name) for name in installed_kinds()}
    # Ours are the last, so that no package takes their names.
    for name, fields in content.items():
        found[name] = MemorySpec(name=name, **fields)
    return found


def find_memory(source: str) -> MemorySpec:
    """The memory of that name, of a class in a file (`my.py:Class`), at an address, or that a YAML or JSON file describes.

    Settings may follow, as in `my.py:Class?topk=5`; they are part of its name. Raises EvaluationError.
    """
    plain, settings = split_settings(source)
    refuse_secrets(settings, where=f"The memory {plain}")
    spec = _without_settings(plain)
    if not settings:
        return spec
    for name in WRITTEN_IN_FILES:
        if name in settings and spec.kind in BUILT_IN:
            raise EvaluationError(f"The setting {name!r} decides where {plain} is; give it in the memory's file.")
    name = f"{spec.name}{settings_suffix(settings)}"
    return spec.model_copy(update={"name": name, "settings": {**spec.settings, **settings}})


def _without_settings(source: str) -> MemorySpec:
    protocol, _, address = source.partition("+")
    if protocol == "mcp" and "://" in address:
        return service_spec("mcp", address, name="mcp")
    if protocol == "provider" and ":" in address and "://" not in address:
        return MemorySpec(name=address.rpartition(":")[2], kind="provider", settings={"address": address})
    if source.startswith(("http://", "https://")):
        return service_spec("http", source)
    path, _, attribute = source.rpartition(":")
    if path.endswith(".py"):
        return in_file(MemorySpec(name=attribute, kind=source))
    if source.endswith(".py"):
        raise EvaluationError(f"{source!r} names no class; give the one that is the memory, as in {source}:MyMemory.")
    if source.endswith(DESCRIPTIONS):
        return _from_file(Path(source))
    if source not in named_memories():
        known = nearest_first(source, named_memories())
        raise EvaluationError(
            f"There is no memory {public_address(source)!r}. The memories are: {known}. Or give FILE.py:CLASS or a YAML file."
        )
    return named_memories()[source]


def in_file(spec: MemorySpec) -> MemorySpec:
    """The memory of a class in a file, whose folders are part of no file and no id."""
    path, _, attribute = spec.kind.rpartition(":")
    return spec.model_copy(update={"kind": f"{Path(path).name}:{attribute}", "location": f"{Path(path).resolve()}:{attribute}"})


@dataclass(frozen=True)
class Confinement:
    """How memories of others are run: in a process that never sees the files that are `hidden`, or, for debugging, here."""

    in_process: bool = False
    hidden: tuple[Path, ...] = ()


CONFINED = Confinement()


def boundary_of(spec: MemorySpec, *, in_process: bool) -> str:
    """Return the boundary that keeps the memory's code in, as runs name it; "" for code of ours, which needs none."""
    if is_ours(spec.kind):
        return ""
    if spec.kind in ADDRESSED:
        return "service"
    if in_process:
        return IN_PROCESS
    kind = available_kind()
    boundary = PROCESS_ALONE if kind == "none" else kind
    return f"{boundary} with network" if is_on(spec.settings.get(NETWORK)) else boundary


def is_on(setting: Setting) -> bool:
    """Return True for a setting that says yes, in a file or on a command line."""
    return setting is True or str(setting).lower() in ("true", "yes", "1")


def host_memory(
    spec: MemorySpec,
    tools: MemoryTools,
    *,
    confinement: Confinement = CONFINED,
    deadline: float = DEADLINE,
    settle: float = 0.0,
) -> MemoryHost:
    """Return the host that makes the memories of one item. `tools` are for the run's models; settings may name others.

    Raises EvaluationError for an unknown kind or wrong settings.
    """
    settings = dict(spec.settings)
    network = is_on(settings.pop(NETWORK, False))
    model, embedding_model = (settings.pop(name, None) for name in MODELS)
    perturbed = str(settings.pop(PERTURBED, None) or "")
    if perturbed:
        if perturbed not in PERTURBATIONS:
            known = nearest_first(perturbed, PERTURBATIONS)
            raise EvaluationError(f"There is no perturbation {perturbed!r} of memories. There are: {known}.")
        plain = spec.model_copy(update={"settings": {k: v for k, v in spec.settings.items() if k != PERTURBED}})
        host = host_memory(plain, tools, confinement=confinement, deadline=deadline, settle=settle)
        return replace(host, name=spec.name, perturbed=perturbed)
    tools = replace(
        tools,
        model_name=str(model or tools.model_name),
        embedding_model=str(embedding_model or tools.embedding_model),
    )
    for name in PLACES:
        if spec.kind in ADDRESSED and name in settings:
            settings[name] = spec.location or settings[name]
    if spec.kind in BUILT_IN:
        settings = _checked(spec.name, BUILT_IN[spec.kind], settings)
    else:
        settings = {name: _from_variable(name, value) for name, value in settings.items()}
    if spec.kind in ADDRESSED or is_ours(spec.kind) or confinement.in_process:
        return _host_here(spec, settings, tools, deadline=deadline, settle=settle)
    code = _foreign_code(spec, settings, hidden=[path.resolve() for path in confinement.hidden])
    process = MemoryProcess(replace(code, network=network, kind=available_kind()), tools)
    return MemoryHost(spec.name, process.made, tools, process, deadline, settle=settle)


def _host_here(
    spec: MemorySpec, settings: Mapping[str, Any], tools: MemoryTools, *, deadline: float, settle: float
) -> MemoryHost:
    """Return a host in our own process: of code of ours, of services, and for debugging."""
    factory = factory_of(spec.code)
    if is_ours(spec.kind):
        return MemoryHost(spec.name, lambda tools: factory(tools, **settings), tools)
    problem = settings_problem(factory, settings)
    if problem:
        raise EvaluationError(problem)
    takes_tools = TOOLS in signature(factory).parameters

    def made(tools: MemoryTools) -> object:
        return factory(**settings, **({TOOLS: tools} if takes_tools else {}))

    asynchronous = is_asynchronous(factory)
    return MemoryHost.in_thread(spec.name, made, tools, deadline=deadline, asynchronous=asynchronous, settle=settle)


def _foreign_code(spec: MemorySpec, settings: Mapping[str, Setting], *, hidden: Sequence[Path]) -> ForeignCode:
    """Return the memory's class as its own process finds it. Raises EvaluationError where there is none."""
    file, _, attribute = spec.code.rpartition(":")
    if file.endswith(".py"):
        place = existing_file(Path(file)).resolve()
        path = import_path([])
        shown = [*shown_of_packages(path, hidden=hidden), *shown_of_file(place, hidden=hidden)]
        return ForeignCode(attribute, place.name, settings, file=str(place), path=tuple(path), shown=tuple(shown))
    if spec.kind == "provider":
        modules = [str(settings["address"]).partition(".")[0].partition(":")[0], "memory_bench"]
        module, attribute = ProviderMemory.__module__, ProviderMemory.__qualname__
    else:
        point = entry_point_of(spec.kind)
        modules = [point.module.partition(".")[0]]
        module, attribute = point.module, point.attr
    path = import_path(modules)
    shown = shown_of_packages(path, hidden=hidden)
    return ForeignCode(attribute, module, settings, module=module, path=tuple(path), shown=tuple(shown))


def _from_variable(name: str, value: Setting) -> Setting:
    """A setting of a memory that is not ours; one that is `$NAME` is in the environment. Raises MemoryFailed."""
    if isinstance(value, str) and VARIABLE.fullmatch(value):
        return from_environment(Template(value), what=f"The memory's setting {name}")
    return value


def _checked(name: str, factory: Factory, settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The settings by the types of the class's own parameters."""
    hints = get_type_hints(cast(type, factory).__init__, include_extras=True)
    fields = dict[str, Any]()
    for field_name, parameter in signature(factory).parameters.items():
        if parameter.kind == Parameter.KEYWORD_ONLY:
            fields[field_name] = (hints[field_name], parameter.default)
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
    """Return what makes memories of the kind. Raises EvaluationError when nobody brings it, or not as it says."""
    if kind in BUILT_IN:
        return BUILT_IN[kind]
    path, _, attribute = kind.rpartition(":")
    if path.endswith(".py"):
        return _from_source(Path(path), attribute)
    point = entry_point_of(kind)
    with _errors_of_others(
        f"The package that brings the kind {kind!r} cannot be imported from {point.value!r}; install it anew, with all that it "
        "needs"
    ):
        return cast(Factory, point.load())


@contextmanager
def _errors_of_others(sentence: str) -> Generator[None]:
    """Raise EvaluationError with this sentence for whatever comes out of foreign code."""
    try:
        yield
    except (Exception, SystemExit) as error:  # anything may
        raise EvaluationError(f"{sentence}: {type(error).__name__}: {error}") from error


def entry_point_of(kind: str) -> EntryPoint:
    """Return what the package says that brings the kind. Raises EvaluationError where none does."""
    point = installed_kinds().get(kind)
    if point is None:
        known = nearest_first(kind, [*BUILT_IN, *installed_kinds()])
        raise EvaluationError(f"There is no memory of kind {kind!r}. The kinds are: {known}. Is its package installed?")
    return point


def existing_file(path: Path) -> Path:
    """Return the path. Raises EvaluationError where it is no file."""
    if not path.is_file():
        raise EvaluationError(f"There is no file {path} with a memory; give FILE.py:CLASS.")
    return path


@cache
def _from_source(path: Path, attribute: str) -> Factory:
    """The class of that name in the file; its folder is searched for what it imports."""
    search_folder_of(existing_file(path))
    with _errors_of_others(f"{path} has no usable class {attribute!r}"):
        found = getattr(module_of_file(path), attribute)
    if not callable(found):
        raise EvaluationError(f"{path} has no usable class {attribute!r}: it is a value of type {type(found).__name__}.")
    return found


def is_ours(kind: str) -> bool:
    """Return True where the code behind the kind is ours, and so needs neither a thread nor a check."""
    return kind in OURS


def embeds(kind: str) -> bool:
    """Return True where the memory may ask for embeddings; of code that is not ours nobody knows."""
    return kind not in OURS or OURS[kind].embeds


def writing_calls(kind: str) -> float:
    """Return about how many model calls an event takes that is written; 0 where nobody knows."""
    return OURS[kind].writing_calls if kind in OURS else 0.0


def forgetting_calls(kind: str) -> float:
    """Return about how many model calls a request to forget takes beside those of its writing; 0 where nobody knows."""
    return OURS[kind].forgetting_calls if kind in OURS else 0.0


def installed_kinds() -> dict[str, EntryPoint]:
    """Return what installed packages say they bring, by kind."""
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
    return _own(cast(dict[str, Any], content), path=path)


def _own(fields: Mapping[str, Any], *, path: Path) -> MemorySpec:
    try:
        spec = MemorySpec.model_validate({"name": path.stem, **fields})
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        key = ".".join(map(str, problem["loc"]))
        raise EvaluationError(f"The memory's file {path} is wrong at {key!r}: {problem['msg'].lower()}.") from None
    # What is secret in the address of a service stays out of its settings.
    own = {name: value for name, value in spec.settings.items() if name != "address" or spec.kind not in ADDRESSED}
    refuse_secrets({**own, "kind": spec.kind}, where=f"The memory's file {path}")
    if spec.kind == "mcp" and spec.settings.get("command"):
        return command_spec(spec)
    address = spec.settings.get("address")
    if spec.kind in ADDRESSED and isinstance(address, str):
        return service_spec(spec.kind, address, name=spec.name, settings=spec.settings).model_copy(update={"whole": spec.whole})
    return in_file(spec) if spec.kind.rpartition(":")[0].endswith(".py") else spec
