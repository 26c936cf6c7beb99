"""The Python files of a pinned package: of the one that is installed, or of an sdist, a wheel or a folder."""

import hashlib
import importlib.metadata as installed
import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import Parser
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from assets.code_qa.packages.imports import files_taken
from assets.code_qa.packages.licenses import license_of
from assets.code_qa.records.sources import CodeFile, CodePackage, Origin
from assets.recipe.code_qa import PackageSpec
from assets.recipe.recipe import RecipeError
from assets.records.paths import PathRefused, files_inside, is_relative_path, read_python_path

MOST_BYTES = 64_000_000  # of an archive's Python files: what unpacks to more is no package
NOT_THE_PACKAGE = frozenset(("test", "tests", "testing", "docs", "examples", "benchmarks", "setup", "conftest"))
METADATA_FILES = ("METADATA", "PKG-INFO")
DOC_SUFFIXES = (".md", ".rst")


class PackageFiles(NamedTuple):
    """A package with all its Python files, tests left out, in order of their paths; and its tests and docs by path."""

    package: CodePackage
    files: tuple[CodeFile, ...]
    texts: Mapping[str, str]


class _Found(NamedTuple):
    """Bytes of Python files and docs by path, and what the package says of itself."""

    origin: Origin
    version: str
    metadata: Message
    files: Mapping[str, bytes]


def read_package(spec: PackageSpec) -> PackageFiles:
    """Return the package's files: of `modules` what importing them takes, else all.

    Raises RecipeError for another version, digest or license than the recipe's, and for a package without files.
    """
    return _read_package(spec.model_dump_json())


@lru_cache(maxsize=32)
def _read_package(spec_json: str) -> PackageFiles:
    spec = PackageSpec.model_validate_json(spec_json)
    found = _at_path(spec) if spec.path else _find_installed(spec)
    if found.version and found.version != spec.version:
        where = "installed" if found.origin == "installed" else f"at {spec.path}"
        raise RecipeError(
            f"The recipe pins {spec.name} {spec.version}, and {found.version} is {where}; install the pinned one, or change "
            "packages.version."
        )
    files = tuple(_code_files(found.files))
    unknown = set(spec.modules) - {file.module for file in files}
    if unknown:
        raise RecipeError(f"packages.modules of {spec.name} has {min(unknown)}, which the package has not.")
    if spec.modules:
        files = files_taken(spec.modules, files)
    if not files:
        raise RecipeError(f"The package {spec.name} has no Python files that could be read; is it installed from a wheel?")
    texts = _texts_beside(found)
    parts: list[str] = []
    for file in files:
        parts += [file.path, file.text]
    content = text_digest("\x1e".join(parts))
    if spec.content and spec.content != content:
        raise RecipeError(f"The files of {spec.name} have changed since the recipe was resolved; materialize it again.")
    package = CodePackage(
        name=spec.name,
        version=spec.version,
        license=license_of(found.metadata, name=spec.name, declared=spec.license),
        origin=found.origin,
        content=content,
    )
    return PackageFiles(package, files, texts)


def with_content(spec: PackageSpec) -> PackageSpec:
    """Return the package with the digest of its files. Raises RecipeError."""
    return spec.model_copy(update={"content": read_package(spec.model_copy(update={"content": ""})).package.content})


def text_digest(text: str) -> str:
    """Return the sha256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _find_installed(spec: PackageSpec) -> _Found:
    try:
        distribution = installed.distribution(spec.name)
    except installed.PackageNotFoundError as error:
        raise RecipeError(
            f"The package {spec.name} is not installed; install {spec.name}=={spec.version}, or give packages.path."
        ) from error
    files: dict[str, bytes] = {}
    for path in distribution.files or ():
        # Scripts lie outside of the folder that packages are in.
        if path.suffix in (".py", *DOC_SUFFIXES) and ".." not in path.parts:
            files[path.as_posix()] = Path(str(distribution.locate_file(path))).read_bytes()
    metadata = Parser().parsestr(distribution.read_text("METADATA") or "")
    return _Found("installed", distribution.version, metadata, files)


def _at_path(spec: PackageSpec) -> _Found:
    path = Path(spec.path)
    if path.is_dir():
        source = path / "src" if (path / "src").is_dir() else path
        # Code alone: what else lies in a folder is pinned by nothing.
        return _Found("path", "", Message(), dict(_python_files(spec, source)))
    if path.exists() and not path.is_file():
        raise RecipeError(f"packages.path of {spec.name}: {path} is neither a file nor a folder.")
    try:
        archive = path.read_bytes()
    except OSError as error:
        raise RecipeError(f"packages.path of {spec.name}: {path} cannot be read: {error.strerror}.") from error
    digest = hashlib.sha256(archive).hexdigest()
    if digest != spec.archive_sha256:
        raise RecipeError(
            f"packages.archive_sha256 of {spec.name} is {spec.archive_sha256 or 'not given'}; {path} has {digest}."
        )
    try:
        members = dict(_wheel(archive) if path.suffix in (".whl", ".zip") else _sdist(archive))
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise RecipeError(f"packages.path of {spec.name}: {path} is neither a wheel nor an sdist: {error}.") from error
    said = b""
    for name, data in members.items():
        if PurePosixPath(name).name in METADATA_FILES:
            said = data
            break
    metadata = Parser().parsestr(said.decode("utf-8", errors="replace"))
    return _Found("path", metadata.get("Version") or "", metadata, members)


def _python_files(spec: PackageSpec, folder: Path) -> Iterator[tuple[str, bytes]]:
    try:
        for path in files_inside(folder):
            if path.suffix == ".py":
                yield path.relative_to(folder).as_posix(), path.read_bytes()
    except PathRefused as error:
        raise RecipeError(f"packages.path of {spec.name}: {error}; take it out.") from error


def _wheel(archive: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(archive)) as wheel:
        wanted = [member for member in wheel.infolist() if _is_wanted(member.filename)]
        _expect_small(sum(member.file_size for member in wanted))
        for one in wanted:
            yield one.filename, wheel.read(one)


def _sdist(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield members without the folder that they all lie in, nor `src`."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as sdist:
        wanted = [member for member in sdist.getmembers() if member.isfile() and _is_wanted(member.name)]
        _expect_small(sum(member.size for member in wanted))
        for member in wanted:
            opened = sdist.extractfile(member)
            parts = PurePosixPath(member.name).parts[1:]
            if parts[:1] == ("src",):
                parts = parts[1:]
            if opened is not None:
                yield PurePosixPath(*parts).as_posix(), opened.read()


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix in (".py", *DOC_SUFFIXES) or path.name in METADATA_FILES


def _expect_small(size: int) -> None:
    if size > MOST_BYTES:
        raise RecipeError(f"A package's Python files come to {size} bytes; {MOST_BYTES} is the most.")


def _code_files(found: Mapping[str, bytes]) -> Iterator[CodeFile]:
    """Yield the files of the package that are text, in order of paths."""
    for path, data in sorted(found.items()):
        if not _is_code(path) or not is_relative_path(path, kind=read_python_path):
            continue
        text = _decode_file(data)
        if text is None:
            continue
        yield CodeFile(path=path, module=_module_name(_names_of(path)), text=text, content=text_digest(text))


def _texts_beside(found: _Found) -> dict[str, str]:
    """Return the package's tests and docs by path, and the description that it is published with; of a folder none.

    Version or archive pin them, as the files of a folder are pinned by `content`.
    """
    texts: dict[str, str] = {}
    if not found.version:
        return texts
    for path, data in sorted(found.files.items()):
        is_read = PurePosixPath(path).suffix in (".py", *DOC_SUFFIXES) and not _is_code(path)
        text = _decode_file(data) if is_read else None
        if text is not None:
            texts[path] = text
    description = found.metadata.get_payload()
    if isinstance(description, str) and description.strip():
        texts["description.md"] = description
    return texts


def _names_of(path: str) -> list[str]:
    return [part.removesuffix(".py") for part in PurePosixPath(path).parts]


def _is_code(path: str) -> bool:
    """Return True for a Python file that is no test, example or document."""
    return path.endswith(".py") and NOT_THE_PACKAGE.isdisjoint(_names_of(path))


def _decode_file(data: bytes) -> str | None:
    """Return a file's text with line feeds alone; None for one that is no text."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None


def _module_name(names: list[str]) -> str:
    """Return the name by which a file is imported; the names are those of its folders and its own."""
    if names[-1] == "__init__" and len(names) > 1:
        names = names[:-1]
    return ".".join(names)
