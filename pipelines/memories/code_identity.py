"""The code of a memory, as its runs are known by: the files that it consists of, their digest, and versions of packages."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec as find_module
from pathlib import Path

from pipelines.memories.kinds import FOLDER, entry_point_of, existing_file, installed_kinds, own_class, own_kinds
from pipelines.memories.others.own_code import own_files
from pipelines.memories.others.shown import packages_of

ENVIRONMENT = "packages of its environment"  # before their digest
# Of an installer's records: what differs with the folder or the installer, though the packages are the same.
NOT_RECORDED = ("INSTALLER,", "REQUESTED,", "direct_url.json,", "uv_cache.json,")


def memory_version(kind: str, *, python: str = "") -> str:
    """Names and versions of the packages that bring the kind, or that decide what a kind of ours does.

    Of an environment whose interpreter is `python`, a digest of all its packages.
    """
    packages: tuple[str, ...] = getattr(own_class(kind), "packages", ())
    if packages:
        return ", ".join(filter(None, map(_package_version, packages)))
    point = installed_kinds().get(kind)
    package = f"{point.dist.name} {point.dist.version}" if point is not None and point.dist is not None else ""
    environment = f"{ENVIRONMENT} {_environment_digest(python)}" if python else ""
    return ", ".join(filter(None, [package, environment]))


def _environment_digest(python: str) -> str:
    """Return a digest of the Python files in the packages' folder, and of what installers recorded of all other files there.

    The same packages in another folder have the same one.
    """
    folder = packages_of(Path(python))
    digests = dict[str, bytes]()
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if (name.endswith(".py") or name == "RECORD") and path.is_file():
                content = path.read_bytes()
                if name == "RECORD":
                    content = _recorded_files(content.decode())
                digests[os.path.relpath(path, folder)] = hashlib.sha256(content).digest()
    return digest_of_code(digests)


def _recorded_files(record: str) -> bytes:
    """Return the lines of the files that installers bring; scripts elsewhere begin with the interpreter's path."""
    lines: list[str] = []
    for line in record.splitlines():
        own = line.rpartition(".dist-info/")[2]
        if not line.startswith("../") and ".pyc," not in line and not own.startswith(NOT_RECORDED):
            lines.append(line)
    return "\n".join(sorted(lines)).encode()


def _package_version(package: str) -> str:
    """Name and version of the package, or "" without it."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def code_files(kind: str, *, texts: Iterable[str] = ()) -> dict[str, Path]:
    """Return the files that the memory consists of: its package's code, or its file and what that imports and names there.

    They are named from the folder on that holds them. `texts`: those of its settings, which may name files too. No code of
    others is run for it.
    """
    file = Path(kind.rpartition(":")[0])
    if kind in own_kinds():
        root, files = FOLDER, set(FOLDER.rglob("*.py"))
    elif file.suffix == ".py":
        root, files = file.parent, own_files(existing_file(file), texts=texts)
    else:
        root, files = _package_files(entry_point_of(kind).module.partition(".")[0])
    return {path.relative_to(root).as_posix(): path for path in sorted(files)}


def source_digest(files: Mapping[str, Path]) -> str:
    """A digest of the files that the memory consists of."""
    return digest_of_code({name: path.read_bytes() for name, path in files.items()})


def digest_of_code(files: Mapping[str, bytes]) -> str:
    """Return a digest of files by their names."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:16]


def _package_files(package: str) -> tuple[Path, set[Path]]:
    """Return the folder that holds a package or module, and its Python files."""
    spec = find_module(package)
    files = set[Path]()
    for place in (spec and spec.submodule_search_locations) or ():
        files |= set(Path(place).rglob("*.py"))
    if not files and spec is not None and spec.origin:
        files = {Path(spec.origin)}
    root = min((path.parent for path in files), key=lambda folder: len(folder.parts), default=Path())
    return (root.parent if root.name == package else root), files
