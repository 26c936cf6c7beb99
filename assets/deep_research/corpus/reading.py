"""Real documents as lines of text with headings: from HTML, Markdown, plain text, Parquet, and installed packages."""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, distribution
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from markdown_it import MarkdownIt
from pyarrow import ArrowException

from assets.recipe.recipe import RecipeError
from assets.records.paths import PathRefused, files_inside

MARKDOWN = (".md", ".markdown")
PARQUET = ".parquet"
SUFFIXES = (".html", ".htm", *MARKDOWN, ".txt", PARQUET)
BLOCKS = frozenset("p li dt dd pre tr div br table section article blockquote h1 h2 h3 h4 h5 h6".split())  # noqa: SIM905
HEADINGS = frozenset(("h1", "h2", "h3", "h4"))
LEFT_OUT = frozenset(("script", "style", "nav", "footer", "header", "form", "svg"))
PACKAGE = "package:"  # before the name and version of an installed package, in place of a path
# What a package says of itself before its description; names of people and addresses are left out.
HEADERS = ("Name", "Version", "Summary", "License-Expression", "Requires-Python", "Requires-Dist")
PACKAGE_NAME = re.compile(r"[\w.-]+")
_tables: Any = pq  # typed in part only
SPACE = re.compile(r"[ \t\r\f\v\u00a0]+")
HTML_START = re.compile(r"\s*<(?:!doctype|html|body|\?xml)", re.IGNORECASE)


class Line(NamedTuple):
    """A line of a document's text."""

    text: str
    heading: bool


class RealDocument(NamedTuple):
    """One document: its id is unique in the corpus and names it to people."""

    document_id: str
    title: str
    lines: tuple[Line, ...]
    license: str


@lru_cache(maxsize=2)
def read_documents(paths: tuple[str, ...], license_name: str) -> tuple[RealDocument, ...]:
    """Return all documents in order of their ids. Raises RecipeError where there is none, or a license is not known."""
    documents: list[RealDocument] = []
    for path in paths:
        if path.startswith(PACKAGE):
            documents.append(_read_package(path.removeprefix(PACKAGE), license_name))
        else:
            documents += [document for document in _read(Path(path), license_name) if document.lines]
    documents.sort(key=lambda document: document.document_id)
    if not documents:
        raise RecipeError(f"source.paths has no HTML, Markdown, text or Parquet document: {', '.join(paths)}.")
    for before, after in pairwise(documents):
        if before.document_id == after.document_id:
            raise RecipeError(f"Two documents have the id {after.document_id!r}; give each an id of its own.")
    for document in documents:
        if not document.license:
            raise RecipeError(f"No license is known of {document.document_id!r}; set source.license.")
    return tuple(documents)


def corpus_digest(documents: tuple[RealDocument, ...]) -> str:
    """Return the sha256 of ids, titles, texts and licenses, in hex."""
    digest = hashlib.sha256()
    for document in documents:
        parts = [document.document_id, document.title, document.license]
        parts += [line.text for line in document.lines]
        digest.update("\x1e".join(parts).encode())
    return digest.hexdigest()


def _read(path: Path, license_name: str) -> Iterator[RealDocument]:
    if path.is_dir():
        try:
            for file in files_inside(path):
                if file.suffix.lower() in SUFFIXES:
                    yield from _read_file(file, file.relative_to(path).as_posix(), license_name)
        except PathRefused as error:
            raise RecipeError(f"source.paths: {error}; take it out, or name the file that it leads to.") from error
    elif path.is_file():
        yield from _read_file(path, path.name, license_name)
    else:
        raise RecipeError(f"source.paths names {str(path)!r}, which is neither a folder nor a file.")


def _read_file(file: Path, name: str, license_name: str) -> Iterator[RealDocument]:
    suffix = file.suffix.lower()
    if suffix == PARQUET:
        yield from _read_parquet(file, license_name)
        return
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RecipeError(f"{file} cannot be read: {error.strerror}.") from error
    title, lines = text_lines(text, markdown=suffix in MARKDOWN)
    yield RealDocument(name, title or file.stem, lines, license_name)


def _read_parquet(file: Path, license_name: str) -> Iterator[RealDocument]:
    try:
        table = _tables.read_table(file)
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OSError, ArrowException) as error:
        raise RecipeError(f"{file} cannot be read as Parquet: {str(error).splitlines()[0]}.") from error
    missing = {"id", "title", "text"} - set(table.column_names)
    if missing:
        raise RecipeError(f"{file} lacks the column {min(missing)!r}; it needs id, title and text, and may have license.")
    for row in rows:
        _, lines = text_lines(str(row["text"]))
        yield RealDocument(str(row["id"]), str(row["title"]), lines, str(row.get("license") or license_name))


def _read_package(requirement: str, license_name: str) -> RealDocument:
    """Return what an installed package says of itself. Raises RecipeError for one of another version, or none."""
    name, _, version = requirement.partition("==")
    try:
        package = distribution(name)
    except PackageNotFoundError as error:
        raise RecipeError(
            f"source.paths names the package {name}, which is not installed; take it out, or install it."
        ) from error
    if package.version != version:
        raise RecipeError(f"source.paths names {requirement}, but {package.version} is installed; write the installed version.")
    told = package.metadata
    lines: list[Line] = []
    for header in HEADERS:
        for value in told.get_all(header) or ():
            # Names of packages are spelled in several ways.
            spelled = PACKAGE_NAME.sub(_one_spelling, value, count=1) if header in ("Name", "Requires-Dist") else value
            lines.append(Line(f"{header}: {spelled}", False))
    _, described = text_lines(
        str(told.json.get("description", "")), markdown="markdown" in str(told.json.get("description_content_type", ""))
    )
    licenses = [*(told.get_all("License-Expression") or ())]
    licenses += [name for name in told.get_all("Classifier") or () if name.startswith("License :: ")]
    own_license = licenses[0].rpartition(":: ")[2] if licenses else license_name
    return RealDocument(requirement, _one_spelling(name), (*lines, *described), own_license)


def _one_spelling(name: str | re.Match[str]) -> str:
    return (name if isinstance(name, str) else name[0]).lower().replace("_", "-")


def text_lines(text: str, *, markdown: bool = False) -> tuple[str, tuple[Line, ...]]:
    """Return the title, if the text says one, and the lines of a text in any of the forms."""
    if not markdown and not HTML_START.match(text):
        plain: list[Line] = []
        for line in text.splitlines():
            words = SPACE.sub(" ", line).strip()
            if words:
                plain.append(Line(words, False))
        return "", tuple(plain)
    parser = _TextParser()
    parser.feed(MarkdownIt().render(text) if markdown else text)
    parser.close()
    parser.end_line()
    title = parser.title
    for line in parser.lines:
        if not title and line.heading:
            title = line.text
    return title, tuple(parser.lines)


class _TextParser(HTMLParser):
    """Collects lines: what is in one block element, without menus and scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.lines: list[Line] = []
        self._words: list[str] = []
        self._skipped = self._menu = 0
        self._heading = self._in_title = self._in_permalink = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "div":
            # A menu may be a plain element with a role; all that is inside of it is left out.
            self._menu += bool(self._menu) or given.get("role") == "navigation"
        if tag in LEFT_OUT:
            self._skipped += 1
        if tag in BLOCKS:
            self.end_line()
        self._heading = self._heading or tag in HEADINGS
        self._in_title = self._in_title or tag == "title"
        self._in_permalink = self._in_permalink or (tag == "a" and "headerlink" in (given.get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in LEFT_OUT:
            self._skipped = max(0, self._skipped - 1)
        if tag in BLOCKS:
            self.end_line()
        if tag == "div":
            self._menu = max(0, self._menu - 1)
        if tag in HEADINGS:
            self._heading = False
        self._in_title = self._in_title and tag != "title"
        self._in_permalink = self._in_permalink and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data.strip()
        elif not self._skipped and not self._menu and not self._in_permalink:
            self._words.append(data)

    def end_line(self) -> None:
        """Close the line that is being collected."""
        text = SPACE.sub(" ", "".join(self._words).replace("\n", " ")).strip()
        if text:
            self.lines.append(Line(SPACE.sub(" ", text), self._heading))
        self._words = []
