"""Small releases of all benchmarks, and their copies with a hostile text in one place, signed as whoever made them would."""

import os
import random
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, cast

from assets.recipe.recipe import Recipe
from assets.records.base import ItemRecord
from dataset_card.code_qa import CODE_QA_RELEASE, SESSION_QUESTIONS_RELEASE
from dataset_card.deep_research import DEEP_RESEARCH_RELEASE
from dataset_card.release.content import ReleaseContent, ReleaseFormat
from dataset_card.release.manifest import MANIFEST
from dataset_card.release_store.folder import write_release
from dataset_card.tool_dialogue import TOOL_DIALOGUE_RELEASE
from dataset_card.user_facts import USER_FACTS_RELEASE
from tests.support import releases
from tests.support.code_questions import code_recipe, made_question
from tests.support.research_tasks import made_task, small_recipe
from tests.support.session_questions import made_session, session_recipe
from tests.support.tool_dialogues import made_dialogue, tool_recipe
from tests.support.user_facts import facts_recipe, made_facts

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.mkdir", "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.truncate", "os.chmod")
Place = tuple[str, Any, Any]  # the dotted name of a text field, and the object or list that holds the text, with its key there


def write_releases(folder: Path) -> list[Path]:
    """Write a release of each benchmark, of one task or of two users, and return their folders."""
    made = [
        releases.content(),
        _content(DEEP_RESEARCH_RELEASE, small_recipe(), made_task().instance),
        _content(CODE_QA_RELEASE, code_recipe(), made_question().instance),
        _content(TOOL_DIALOGUE_RELEASE, tool_recipe(), made_dialogue().instance),
        _content(SESSION_QUESTIONS_RELEASE, session_recipe(), made_session("decision")["sq_instances"]),
        _content(USER_FACTS_RELEASE, facts_recipe(), made_facts().user),
    ]
    return [write_release(content, root=folder, version="0.1.0").folder for content in made]


def write_code_questions(folder: Path) -> Path:
    """Write a release of one code question, whose package's files have paths, and return its folder."""
    content = _content(CODE_QA_RELEASE, code_recipe(), made_question().instance)
    return write_release(content, root=folder, version="0.1.0").folder


def _content(form: ReleaseFormat, recipe: Recipe, item: ItemRecord) -> ReleaseContent:
    named = recipe.model_copy(update={"variant": form.benchmark.name})
    return ReleaseContent(form=form, recipe=named, items=[item], generator="amemgym-synth 0.1.0")


def text_places(value: Any, name: str = "") -> Iterator[Place]:
    """Yield every text in a row."""
    is_object = isinstance(value, dict)
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict | list):
        pairs += cast(dict[str, Any], value).items() if is_object else enumerate(cast(list[Any], value))
    for key, inner in pairs:
        below = f"{name}.{key}".lstrip(".") if is_object else name
        if isinstance(inner, str):
            yield below, value, key
        else:
            yield from text_places(inner, below)


def hostile_texts(outside: Path) -> dict[str, str]:
    """Texts that no file should follow from. `outside`: a folder in which nothing may appear."""
    return {
        "above": "../planted.pth",
        "far above": f"{'../' * 40}{str(outside).lstrip('/')}/planted.pth",
        "through a folder": "package/../../../planted.py",
        "absolute": f"{outside}/planted.pth",
        "link": "link/planted.py",
        "device": "/dev/full",
        "device of Windows": "CON.py",
        "NUL": "planted\0.py",
        "long": "x" * 300,
        "long folders": "x/" * 300,
        "backslash": "..\\..\\planted.py",
        "line": "planted\n.py",
        "option": "--output=planted.py",
        "home": "~/planted.py",
        "braces": "{0.__class__}{planted}%s$(touch planted)",
    }


@dataclass
class Mutation:
    """A copy of a release with one hostile text. `field`: the table and the dotted name of the text."""

    folder: Path
    original: Path
    field: str
    kind: str


class Mutator:
    """Makes copies of releases with a hostile text in one place; every field meets every text before one comes again.

    `size`: the number of mutations that differ.
    """

    def __init__(self, originals: list[Path], *, copies: Path, outside: Path, seed: int) -> None:
        self._copies = copies
        self._texts = hostile_texts(outside)
        self._seed = seed
        self._rows: dict[Path, list[dict[str, Any]]] = {}
        order: list[tuple[Path, Path, str, str]] = []
        for original in originals:
            shutil.copytree(original, copies / original.parent.name, copy_function=os.link)
            for path in sorted(original.rglob("*.parquet")):
                self._rows[path] = releases.read_rows(path)
                names = {name for row in self._rows[path] for name, _, _ in text_places(row)}
                order += product([original], [path], sorted(names), self._texts)
        random.Random(seed).shuffle(order)
        self._order = order
        self.size = len(order)

    @contextmanager
    def mutation(self, number: int, *, verified: bool) -> Generator[Mutation]:
        """Yield the mutation of this number; its copy is the original again at the end. `verified`: with a true digest."""
        original, path, name, kind = self._order[number % self.size]
        rng = random.Random(f"{self._seed}/{number}")
        folder = self._copies / original.parent.name
        place = path.relative_to(original).as_posix()
        rows = list(self._rows[path])
        changed = rng.choice([index for index, row in enumerate(rows) if any(name == one for one, _, _ in text_places(row))])
        rows[changed] = deepcopy(rows[changed])
        _, holder, key = rng.choice([found for found in text_places(rows[changed]) if found[0] == name])
        holder[key] = self._texts[kind]
        try:
            releases.spoil_table(folder, place, rows, digest="" if verified else f"{number:064}")
            yield Mutation(folder, original, f"{place}: {name}", kind)
        finally:
            for file in (place, MANIFEST):
                (folder / file).unlink(missing_ok=True)
                os.link(original / file, folder / file)


@dataclass
class WriteWatch:
    """Paths outside of the folders `within` that this process opened for writing, made, moved or removed."""

    within: tuple[str, ...]
    outside: list[str] = field(default_factory=list[str])
    watching: bool = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.watching or not (event == "open" or event in CHANGES):
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & WRITING):
            return
        for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
            place = os.path.realpath(os.fsdecode(path)) if isinstance(path, str | bytes | Path) else ""
            if place not in ("", os.devnull) and not place.startswith(self.within):
                self.outside.append(f"{event} {place}")

    @contextmanager
    def watch(self) -> Generator[None]:
        self.watching = True
        try:
            yield
        finally:
            self.watching = False


def watch_writes(*folders: Path) -> WriteWatch:
    """Return a watch on this process; it cannot be taken out again, and watches only while it is told to."""
    found = WriteWatch(tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in folders))
    sys.addaudithook(found)
    return found
