"""Memories by name, file or address, and what their code is: ours, of another installed package, or a file's class.

Kinds are entry points. What runs in this process is decided by the package that enters a kind, and not by its name.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import Distribution, EntryPoint
from inspect import Parameter, signature
from pathlib import Path
from string import Template
from typing import Any, NamedTuple, Protocol, cast, get_type_hints, runtime_checkable

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from assets.entry_points import load_point, points_of, refuse_stale
from assets.isolation.boundary import available_kind
from assets.isolation.limits import DEFAULT_LIMITS, ResidentLimits
from assets.recipe.loading import first_problem, name_meant, nearest_first
from assets.records.paths import leads_inside
from pipelines.errors import EvaluationError
from pipelines.memories.built_in.base import CopiedMemory
from pipelines.memories.code_calls import DEADLINE
from pipelines.memories.code_thread import TOOLS, is_asynchronous, settings_problem
from pipelines.memories.contract import MemorySpec, Setting
from pipelines.memories.failures import MemoryFailed, Retries
from pipelines.memories.hosting import MemoryHost
from pipelines.memories.others.process import ForeignCode, MemoryProcesses
from pipelines.memories.others.shown import import_path, left_out_links, shown_of_file, shown_of_packages
from pipelines.memories.perturbed import PERTURBATIONS, PERTURBED
from pipelines.memories.private_imports import OURS, imports_in_folder, with_plain_names
from pipelines.memories.settings import VARIABLE, from_environment, refuse_secrets, settings_suffix, split_settings
from pipelines.memories.tools import MemoryTools
from pipelines.redaction import public_address

GROUP = "amemgym.memories"
DISTRIBUTION = "amemgym-synth"  # whose kinds are ours
FOLDER = Path(__file__).parent
Factory = Callable[..., object]
DESCRIPTIONS = (".yaml", ".yml", ".json")
MODELS = {"memory": "model", "embedding": "embedding_model"}  # settings of every kind, by the role that they name a model for
TOOLS_MODELS = {"model_name": MODELS["memory"], "embedding_model": MODELS["embedding"]}
PLACES = ("address", "command")  # of services; a spec's location is the whole one
WRITTEN_IN_FILES = ("address", "headers", "command", "environment")  # of services: checked as a whole, for secrets in them
NETWORK = "network"  # the setting by which a memory of others declares that it needs the network
APART = "apart"  # the setting by which each of its memories has a process and a home of its own
PYTHON = "python"  # the setting that names the interpreter of an environment whose packages it uses in place of ours
LIMITS = {"max_memory_mb": "memory_mb", "max_processes": "processes", "max_disk_mb": "disk_mb"}  # settings of all of these
COUNT = re.compile("[1-9][0-9]{0,8}")
IN_PROCESS = "in-process"
PROCESS_ALONE = "process"  # of its own, on a machine that gives no boundary


@runtime_checkable
class AddressedKind(Protocol):
    """A kind of ours that is reached at an address: its class says how one is written."""

    def spec_at(self, address: str) -> MemorySpec | None:
        """Return the memory at the address; None for a text that is no address of this kind."""
        ...

    def locate(self, spec: MemorySpec) -> MemorySpec:
        """Return the memory of a file, with its address apart from what everybody may read. Raises EvaluationError."""
        ...


@cache
def named_memories() -> dict[str, MemorySpec]:
    """The named memories, and one for each installed kind under the kind's name."""
    content: dict[str, Any] = yaml.safe_load((FOLDER / "memories.yaml").read_text(encoding="utf-8"))
    found = {name: MemorySpec(name=name, kind=name) for name in installed_kinds()}
    # Ours are the last, so that no package takes their names.
    for name, fields in content.items():
        if fields["kind"] in own_kinds():
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
        if name in settings and spec.kind in own_kinds():
            raise EvaluationError(f"The setting {name!r} decides where {plain} is; give it in the memory's file.")
    found = _with_interpreter(spec.model_copy(update={"settings": {**spec.settings, **settings}}))
    named = {name: value for name, value in settings.items() if name in found.settings}
    return found.model_copy(update={"name": f"{spec.name}{settings_suffix(named)}"}) if named else found


def _without_settings(source: str) -> MemorySpec:
    kind, _, address = (f"http+{source}" if source.startswith(("http://", "https://")) else source).partition("+")
    addressed = own_class(kind) if address else None
    found = addressed.spec_at(address) if isinstance(addressed, AddressedKind) else None
    if found is not None:
        return found
    path, _, attribute = source.rpartition(":")
    if path.endswith(".py") and attribute:
        return in_file(MemorySpec(name=attribute, kind=source))
    file = source.removesuffix(":")
    if file.endswith(".py"):
        raise EvaluationError(f"{source!r} names no class; give the one that is the memory, as in {file}:MyMemory.")
    if source.endswith(DESCRIPTIONS):
        return _from_file(Path(source))
    if source not in named_memories():
        refuse_stale(GROUP, source)
        known = nearest_first(source, named_memories())
        raise EvaluationError(
            f"There is no memory {public_address(source)!r}.{name_meant(source, named_memories())} The memories are: {known}. "
            "Or give FILE.py:CLASS or a YAML file."
        )
    return named_memories()[source]


def in_file(spec: MemorySpec) -> MemorySpec:
    """The memory of a class in a file, whose folders are part of no file and no id. Raises EvaluationError."""
    path, _, attribute = spec.kind.rpartition(":")
    file = Path(path)
    if not leads_inside(file.parent, file):
        raise EvaluationError(f"{file} is a link that leads out of its folder; give the file that it leads to.")
    return spec.model_copy(update={"kind": f"{file.name}:{attribute}", "location": f"{file.resolve()}:{attribute}"})


@dataclass(frozen=True)
class Confinement:
    """How memories of others are run: in a process that never sees the files that are `hidden`, or, for debugging, here.

    `opened` is told each file of a memory's folder that its process opens.
    """

    in_process: bool = False
    hidden: tuple[Path, ...] = ()
    opened: Callable[[str], None] = lambda name: None


CONFINED = Confinement()


def boundary_of(spec: MemorySpec, *, in_process: bool) -> str:
    """Return the boundary that keeps the memory's code in, as runs name it; "" for code of ours, which needs none."""
    if is_ours(spec.kind):
        return ""
    if is_service(spec.kind):
        return "service"
    if in_process:
        return IN_PROCESS
    kind = available_kind()
    boundary = PROCESS_ALONE if kind == "none" else kind
    return f"{boundary} with network" if is_on(spec.settings.get(NETWORK), name=NETWORK) else boundary


def asks_the_run_alone(boundary: str) -> bool:
    """Return True where a memory within this boundary can ask no model but by the run, which counts and prices it."""
    apart = boundary in ("service", IN_PROCESS) or boundary.startswith(PROCESS_ALONE)
    return not apart and not boundary.endswith("with network")


def _with_interpreter(spec: MemorySpec) -> MemorySpec:
    """Return the memory with the interpreter that its setting `python` names apart from its settings: paths differ by machine.

    Raises EvaluationError for no name.
    """
    if PYTHON not in spec.settings or own_class(spec.kind) is not None:
        return spec
    settings = dict(spec.settings)
    try:
        interpreter = _from_variable(PYTHON, settings.pop(PYTHON))
    except MemoryFailed as failed:
        raise EvaluationError(str(failed)) from failed
    if interpreter == "":
        raise EvaluationError(
            f"The setting python of memory {spec.name!r} is empty; give the interpreter of a virtual environment, as in "
            "python: /path/to/venv/bin/python, or leave it out."
        )
    return spec.model_copy(update={"settings": settings, "interpreter": str(interpreter or "")})


def is_on(setting: Setting, *, name: str) -> bool:
    """Return True for a setting that says yes, and False for one that says no. Raises EvaluationError for any other."""
    word = str(setting).lower()
    if word not in ("true", "yes", "on", "1", "false", "no", "off", "0", "none"):
        raise EvaluationError(f"The setting {name} of a memory is true or false, not {word!r}.")
    return word in ("true", "yes", "on", "1")


def host_memory(
    spec: MemorySpec,
    tools: MemoryTools,
    *,
    confinement: Confinement = CONFINED,
    deadline: float = DEADLINE,
    settle: float = 0.0,
    retries: Retries | None = None,
) -> MemoryHost:
    """Return the host that makes the memories of one item. `tools` are for the run's models; settings may name others.

    Raises EvaluationError for an unknown kind or wrong settings.
    """
    given = read_settings(spec)
    named = {name: str(given.models.get(setting) or getattr(tools, name)) for name, setting in TOOLS_MODELS.items()}
    tools = replace(tools, **named).limited()
    retries = retries or Retries()
    if is_service(spec.kind):
        host = _host_service(spec, given.own, tools, deadline=deadline, settle=settle, retries=retries)
        return replace(host, perturbed=given.perturbed)
    if spec.interpreter and confinement.in_process:
        raise EvaluationError(
            f"Memory {spec.name!r} has packages of its own by its setting python, so that it needs its own process."
        )
    if is_ours(spec.kind) or confinement.in_process:
        host = _host_here(spec, given, tools, deadline=deadline, settle=settle, retries=retries)
        return replace(host, perturbed=given.perturbed)
    code = _foreign_code(spec, given, hidden=[path.resolve() for path in confinement.hidden])
    place = MemoryProcesses(code, tools, opened=confinement.opened)
    return MemoryHost(
        spec.name,
        place,
        deadline,
        make=place.make_memory,
        tools=tools,
        settle=settle,
        retries=retries,
        perturbed=given.perturbed,
    )


class ReadSettings(NamedTuple):
    """A memory's settings by who takes them: its class, its process, and the runner, which names its models."""

    own: dict[str, Any]
    network: bool
    apart: bool
    limits: ResidentLimits
    models: dict[str, Setting]
    perturbed: str


def read_settings(spec: MemorySpec) -> ReadSettings:
    """Return the memory's settings. Raises EvaluationError for those that nothing takes, as far as its class is ours."""
    settings = dict(spec.settings)
    network, apart = (is_on(settings.pop(name, False), name=name) for name in (NETWORK, APART))
    limits = _limits(spec.name, {name: settings.pop(name) for name in LIMITS if name in settings})
    models = {name: settings.pop(name) for name in MODELS.values() if name in settings}
    perturbed = str(settings.pop(PERTURBED, None) or "")
    if perturbed and perturbed not in PERTURBATIONS:
        known = nearest_first(perturbed, PERTURBATIONS)
        raise EvaluationError(f"There is no perturbation {perturbed!r} of memories. There are: {known}.")
    for name in PLACES:
        if is_service(spec.kind) and name in settings:
            settings[name] = spec.location or settings[name]
    own = own_class(spec.kind)
    if own is not None:
        settings = _check_settings(spec.name, own, settings)
    return ReadSettings(settings, network, apart, limits, models, perturbed)


def _host_service(
    spec: MemorySpec, settings: Mapping[str, Any], tools: MemoryTools, *, deadline: float, settle: float, retries: Retries
) -> MemoryHost:
    """Return a host of a service, whose client tries each request again by itself, within the same call."""
    factory = factory_of(spec.kind)
    longest = deadline * (1 + len(retries.waits)) + sum(retries.waits)
    once = Retries(waits=())
    return MemoryHost.in_thread(
        spec.name,
        lambda _: factory(retries, **settings),
        tools,
        deadline=longest,
        asynchronous=True,
        settle=settle,
        retries=once,
    )


def _host_here(
    spec: MemorySpec, given: ReadSettings, tools: MemoryTools, *, deadline: float, settle: float, retries: Retries
) -> MemoryHost:
    """Return a host in our own process: of code of ours, and for debugging."""
    factory = factory_of(spec.code)
    settings = given.own
    if is_ours(spec.kind):
        return MemoryHost(spec.name, make=lambda tools: factory(tools, **settings), tools=tools, retries=retries)
    settings = _from_variables(settings)
    problem = settings_problem(factory, settings)
    if problem:
        raise EvaluationError(problem)
    takes_tools = TOOLS in signature(factory).parameters
    settings |= {name: model for name, model in given.models.items() if name in signature(factory).parameters}

    def make_memory(tools: MemoryTools) -> object:
        return factory(**settings, **({TOOLS: tools} if takes_tools else {}))

    asynchronous = is_asynchronous(factory)
    return MemoryHost.in_thread(
        spec.name, make_memory, tools, deadline=deadline, asynchronous=asynchronous, settle=settle, retries=retries
    )


def _foreign_code(spec: MemorySpec, given: ReadSettings, *, hidden: Sequence[Path]) -> ForeignCode:
    """Return the memory's class as its own process finds it. Raises EvaluationError where there is none."""
    file, _, attribute = spec.code.rpartition(":")
    own = own_class(spec.kind)
    modules: list[str] = []
    module = ""
    place: Path | None = None
    if file.endswith(".py"):
        place = existing_file(Path(file)).resolve()
    elif own is not None:
        modules = [str(given.own["address"]).partition(".")[0].partition(":")[0], package_of(spec.kind)]
        module, attribute = f"{OURS}.{own.__module__}", own.__qualname__
    else:
        point = entry_point_of(spec.kind)
        modules = [point.module.partition(".")[0]]
        module, attribute = point.module, point.attr
    path = import_path(modules, python=spec.interpreter)
    shown = list(shown_of_packages(path, hidden=hidden))
    if place is not None:
        shown += shown_of_file(place, hidden=hidden)
    return ForeignCode(
        attribute,
        place.name if place else module,
        given.own if own is not None else _from_variables(given.own),
        file=str(place or ""),
        module=module,
        path=tuple(path),
        shown=tuple(shown),
        network=given.network,
        apart=given.apart,
        kind=available_kind(),
        limits=given.limits,
        models=given.models,
    )


def links_not_shown(spec: MemorySpec, *, confinement: Confinement) -> list[str]:
    """Return the links in the folder of a memory of others that lead out of it; none where it is not confined."""
    file = Path(spec.code.rpartition(":")[0])
    if is_service(spec.kind) or is_ours(spec.kind) or confinement.in_process or file.suffix != ".py":
        return []
    return left_out_links(file.resolve(), hidden=[path.resolve() for path in confinement.hidden])


def _limits(name: str, settings: Mapping[str, Setting]) -> ResidentLimits:
    """Return what the memory's process may take. Raises EvaluationError for what is no number."""
    for setting, value in settings.items():
        if not COUNT.fullmatch(str(value)):
            raise EvaluationError(
                f"The setting {setting!r} of memory {name!r} is {value!r}; it must be a whole number from 1 on."
            )
    return DEFAULT_LIMITS._replace(**{LIMITS[setting]: int(str(value)) for setting, value in settings.items()})


def _from_variables(settings: Mapping[str, Setting]) -> dict[str, Any]:
    return {name: _from_variable(name, value) for name, value in settings.items()}


def _from_variable(name: str, value: Setting) -> Setting:
    """A setting of a memory that is not ours; one that is `$NAME` is in the environment. Raises MemoryFailed."""
    if isinstance(value, str) and VARIABLE.fullmatch(value):
        return from_environment(Template(value), what=f"The memory's setting {name}")
    return value


def _check_settings(name: str, factory: Factory, settings: Mapping[str, Setting]) -> dict[str, Any]:
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
        known = ", ".join([*fields, *MODELS.values()])
        if problem["type"] == "extra_forbidden":
            plain = name.partition("?")[0]
            raise EvaluationError(f"{plain} has no setting {problem['loc'][0]!r}; its settings are: {known}.") from error
        setting, needed = first_problem(error)
        raise EvaluationError(
            f"The setting {setting!r} of memory {name!r} cannot be used, it {needed}; there are {known}."
        ) from error


def factory_of(kind: str) -> Factory:
    """Return what makes memories of the kind. Raises EvaluationError when nobody brings it, or not as it says."""
    own = own_class(kind)
    if own is not None:
        return own
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
        raise EvaluationError(with_plain_names(f"{sentence}: {type(error).__name__}: {error}")) from error


def entry_point_of(kind: str) -> EntryPoint:
    """Return what the package says that brings the kind. Raises EvaluationError where none does."""
    point = installed_kinds().get(kind)
    if point is None:
        known = nearest_first(kind, [*own_kinds(), *installed_kinds()])
        raise EvaluationError(f"There is no memory of kind {kind!r}. The kinds are: {known}. Is its package installed?")
    return point


def existing_file(path: Path) -> Path:
    """Return the path. Raises EvaluationError where it is no file."""
    if not path.is_file():
        raise EvaluationError(f"There is no file {path} with a memory; give FILE.py:CLASS.")
    return path


@cache
def _from_source(path: Path, attribute: str) -> Factory:
    """The class of that name in the file, which finds in its own folder what it imports."""
    imports = imports_in_folder(existing_file(path).parent)
    with _errors_of_others(f"{path} has no usable class {attribute!r}"):
        found = getattr(imports.load_file(path), attribute)
    if not callable(found):
        raise EvaluationError(f"{path} has no usable class {attribute!r}: it is a value of type {type(found).__name__}.")
    return found


def is_ours(kind: str) -> bool:
    """Return True where the code behind the kind is ours, and so needs neither a thread nor a check."""
    return _in_process(kind) is not None


def is_service(kind: str) -> bool:
    """Return True for a memory of others that is reached over a network, or by a command, and runs no code of its own here."""
    return not package_of(kind) and isinstance(own_class(kind), AddressedKind)


def package_of(kind: str) -> str:
    """Return the package of others that a kind of ours runs in a process of its own; "" where it runs none."""
    return getattr(own_class(kind), "package", "")


def embeds(kind: str) -> bool:
    """Return True where the memory may ask for embeddings; of code that is not ours nobody knows."""
    own = _in_process(kind)
    return own is None or own.embeds


def own_class(kind: str) -> type[Any] | None:
    """Return the class of a kind that is ours; None for another kind. Imports it."""
    point = own_kinds().get(kind)
    return load_point(point) if point else None


def own_kinds() -> dict[str, EntryPoint]:
    """Return what this package enters, by kind."""
    return {point.name: point for point in points_of(GROUP) if _is_own(point)}


def installed_kinds() -> dict[str, EntryPoint]:
    """Return what other installed packages say they bring, by kind."""
    return {point.name: point for point in points_of(GROUP) if not _is_own(point)}


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and _name_of(point.dist) == DISTRIBUTION


@cache
def _name_of(distribution: Distribution) -> str:
    """Return its name, for which all its metadata are parsed."""
    return distribution.name


def _in_process(kind: str) -> type[CopiedMemory] | None:
    own = own_class(kind)
    return own if own is not None and issubclass(own, CopiedMemory) else None


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
        key, needed = first_problem(error)
        raise EvaluationError(f"The memory's file {path} is wrong at {key!r}, which {needed}.") from None
    addressed = own_class(spec.kind) if is_service(spec.kind) else None
    # What is secret in the address of a service stays out of its settings.
    own = {name: value for name, value in spec.settings.items() if name != "address" or addressed is None}
    refuse_secrets({**own, "kind": spec.kind}, where=f"The memory's file {path}")
    if isinstance(addressed, AddressedKind):
        return addressed.locate(spec)
    spec = _with_interpreter(spec)
    return in_file(spec) if spec.kind.rpartition(":")[0].endswith(".py") else spec
