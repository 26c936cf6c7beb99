"""Memories by name, file or address, with their settings, which may follow behind."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from assets.entry_points import refuse_stale
from assets.records.paths import leads_inside
from assets.records.problems import first_problem, name_meant, nearest_first
from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemorySpec
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.kinds import FOLDER, GROUP, AddressedKind, installed_kinds, is_service, own_class, own_kinds
from pipelines.memories.settings import PYTHON, from_variable, refuse_secrets, settings_suffix, split_settings
from pipelines.redaction import public_address

DESCRIPTIONS = (".yaml", ".yml", ".json")
WRITTEN_IN_FILES = ("address", "headers", "command", "environment")  # of services: checked as a whole, for secrets in them


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


def _with_interpreter(spec: MemorySpec) -> MemorySpec:
    """Return the memory with the interpreter that its setting `python` names apart from its settings: paths differ by machine.

    Raises EvaluationError for no name.
    """
    if PYTHON not in spec.settings or own_class(spec.kind) is not None:
        return spec
    settings = dict(spec.settings)
    try:
        interpreter = from_variable(PYTHON, settings.pop(PYTHON))
    except MemoryFailed as failed:
        raise EvaluationError(str(failed)) from failed
    if interpreter == "":
        raise EvaluationError(
            f"The setting python of memory {spec.name!r} is empty; give the interpreter of a virtual environment, as in "
            "python: /path/to/venv/bin/python, or leave it out."
        )
    return spec.model_copy(update={"settings": settings, "interpreter": str(interpreter or "")})
