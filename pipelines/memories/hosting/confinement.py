"""How a memory is run: code of ours here, a service behind its client, code of others in a process within a boundary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path

from assets.isolation.boundary import available_kind
from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemorySpec
from pipelines.memories.failures import Retries
from pipelines.memories.hosting.hosted import MemoryHost
from pipelines.memories.kinds import entry_point_of, existing_file, factory_of, is_ours, is_service
from pipelines.memories.others.code_calls import DEADLINE
from pipelines.memories.others.code_thread import TOOLS, is_asynchronous, settings_problem
from pipelines.memories.others.process import ForeignCode, MemoryProcesses
from pipelines.memories.others.shown import import_path, left_out_links, shown_of_file, shown_of_packages
from pipelines.memories.settings import MODELS, NETWORK, ReadSettings, from_variables, is_on, read_settings
from pipelines.memories.tools import MemoryTools

TOOLS_MODELS = {"model_name": MODELS["memory"], "embedding_model": MODELS["embedding"]}
IN_PROCESS = "in-process"
PROCESS_ALONE = "process"  # of its own, on a machine that gives no boundary


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
        host = _host_service(spec, given, tools, retries)
        # Its client tries each request again by itself, within the same call.
        deadline = deadline * (1 + len(retries.waits)) + sum(retries.waits)
        retries = Retries(waits=())
    elif is_ours(spec.kind):
        factory = factory_of(spec.kind)
        host = MemoryHost(spec.name, make=lambda tools: factory(tools, **given.own), tools=tools)
    elif not confinement.in_process:
        code = _foreign_code(spec, given, hidden=[path.resolve() for path in confinement.hidden])
        place = MemoryProcesses(code, tools, opened=confinement.opened)
        host = MemoryHost(spec.name, place, make=place.make_memory, tools=tools)
    else:
        host = _host_in_thread(spec, given, tools)
    return replace(host, deadline=deadline, settle=settle, retries=retries, perturbed=given.perturbed)


def _host_service(spec: MemorySpec, given: ReadSettings, tools: MemoryTools, retries: Retries) -> MemoryHost:
    factory = factory_of(spec.kind)
    return MemoryHost.in_thread(spec.name, lambda _: factory(retries, **given.own), tools, asynchronous=True)


def _host_in_thread(spec: MemorySpec, given: ReadSettings, tools: MemoryTools) -> MemoryHost:
    """Return a host in our own process, for debugging. Raises EvaluationError."""
    if spec.interpreter:
        raise EvaluationError(
            f"Memory {spec.name!r} has packages of its own by its setting python, so that it needs its own process."
        )
    factory = factory_of(spec.code)
    settings = from_variables(given.own)
    problem = settings_problem(factory, settings)
    if problem:
        raise EvaluationError(problem)
    takes_tools = TOOLS in signature(factory).parameters
    settings |= {name: model for name, model in given.models.items() if name in signature(factory).parameters}

    def make_memory(tools: MemoryTools) -> object:
        return factory(**settings, **({TOOLS: tools} if takes_tools else {}))

    return MemoryHost.in_thread(spec.name, make_memory, tools, asynchronous=is_asynchronous(factory))


def _foreign_code(spec: MemorySpec, given: ReadSettings, *, hidden: Sequence[Path]) -> ForeignCode:
    """Return the memory's class as its own process finds it. Raises EvaluationError where there is none."""
    file, _, attribute = spec.code.rpartition(":")
    modules: list[str] = []
    module = ""
    place: Path | None = None
    if file.endswith(".py"):
        place = existing_file(Path(file)).resolve()
    else:
        point = entry_point_of(spec.kind)
        modules = [point.module.partition(".")[0]]
        module = point.module
        attribute = point.attr
    path = import_path(modules, python=spec.interpreter)
    shown = list(shown_of_packages(path, hidden=hidden))
    if place is not None:
        shown += shown_of_file(place, hidden=hidden)
    return ForeignCode(
        attribute,
        place.name if place else module,
        from_variables(given.own),
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
