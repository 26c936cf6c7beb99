"""The report of a run as one HTML page.

The page holds everything it needs and asks nothing of the network. No text of a run is taken for markup. Texts that come
again and again, such as memories, stand once in the page's JSON and are referred to by number.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.records.base import Record
from assets.records.estimate import FEWEST_ITEMS, ROUGH
from assets.reporting.page_style import NARROW_TABLES, page_style
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import FRONT, TABLE
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.evaluation.report.formatting import (
    RED,
    beside_the_paper,
    interval_note,
    mode_label,
    nothing_recalled,
    plumbing_note,
    settings_line,
)

FILES = Path(__file__).parent / "page_files"
SCRIPTS = ("base", "charts", "board", "run", "browse", "start")
# What could end a script element, or a line of JavaScript.
ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
Json = dict[str, Any]


@dataclass(frozen=True)
class PageItem:
    """A user, or a task over documents at one `length`, as the page shows it.

    `questions` have id, query, the names of the values that they require, and options with id, text and state. `periods` have
    what they end with (`end`), the `state` then, and `sessions`: `at`, `event`, `exposed` values, and `turns` with message,
    reply and breaches.
    """

    user_id: str
    name: str
    questions: list[Json]
    periods: list[Json]
    length: int = 0

    @property
    def page_id(self) -> str:
        """What tells it apart on the page."""
        return f"{self.user_id} at {self.length}" if self.length else self.user_id

    def has(self, answer: AnswerRow) -> bool:
        """Whether the answer is to one of its questions."""
        return (answer.user_id, answer.length) == (self.user_id, self.length)


def run_page(run: FinishedRun, items: Sequence[PageItem]) -> str:
    """One run with everything perceived, recalled and answered. Each item's texts are a block, parsed when it is looked at."""
    blocks = {f"user-{index}": item_data(run, item) for index, item in enumerate(items)}
    return render_page(f"{run.manifest.memory.name} on {run.manifest.dataset}", {"data": run_data(run, items), **blocks})


def render_page(title: str, blocks: Mapping[str, object], *, scripts: tuple[str, ...] = SCRIPTS) -> str:
    """A page of these blocks of data, drawn by these scripts of `page_files`, the last of which starts."""
    style, script = _files(scripts)
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            blocks={name: embedded(content) for name, content in blocks.items()},
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )


def embedded(content: object) -> str:
    """JSON that can stand in a script element, whatever texts it holds."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPED)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _files(scripts: tuple[str, ...]) -> tuple[str, str]:
    texts = [(FILES / f"{name}.js").read_text(encoding="utf-8") for name in scripts]
    return page_style(NARROW_TABLES, FILES / "page.css"), "\n".join(texts)


@cache
def _templates() -> Environment:
    # JSON, style and script are escaped or ours; the title is escaped by the template.
    return Environment(loader=FileSystemLoader(FILES), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)


class Texts:
    """Numbers for texts: equal texts get the same number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The text's number; a new text gets the next one."""
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


def run_data(run: FinishedRun, items: Sequence[PageItem]) -> Json:
    """A run's scores, and what there is to choose from in its answers."""
    manifest, documents = run.manifest, run.manifest.mode == "documents"
    return {
        "title": f"{manifest.memory.name} on {manifest.dataset}",
        "subtitle": f"Run {manifest.run_id}, {mode_label(manifest)}.",
        "facts": _facts(manifest),
        "results": plain(run.results),
        "meanings": {entry.name: [entry.meaning, entry.formula] for entry in TABLE},
        "front": [name for name in FRONT if name in run.results.metrics],
        "notes": _notes(run),
        "noun": manifest.noun,
        "red": RED,
        "mark": ROUGH if run.results.users < FEWEST_ITEMS else "",
        "place": "turn" if documents else "period",
        "perceived": "Documents" if documents else "Dialogue",
        "periods": max(len(item.periods) for item in items),
        "users": [_user(run, item) for item in items],
        "kinds": list(dict.fromkeys(answer.kind for answer in run.answers)),
        "items": list(dict.fromkeys(answer.item for answer in sorted(run.answers, key=lambda answer: answer.item))),
    }


def plain(record: Record) -> Any:
    """The record as JSON's own types."""
    return record.model_dump(mode="json")


def _notes(run: FinishedRun) -> list[str]:
    """Sentences that stand above all scores."""
    notes = [nothing_recalled(run), plumbing_note(run.manifest), beside_the_paper(run.manifest), run.results.no_memory_score]
    errors = [f"Not evaluated to the end: {error.sentence}" for error in run.results.errors]
    return [*filter(None, notes), *errors, interval_note(run.results.users, run.manifest.noun)]


def _facts(manifest: RunManifest) -> list[tuple[str, str]]:
    settings = settings_line(manifest.memory)
    return [
        ("dataset", f"{manifest.dataset}, {counted(len(manifest.users), manifest.noun)}, digest {manifest.dataset_digest[:8]}"),
        ("memory", ", ".join(filter(None, [manifest.memory.kind, settings, manifest.memory_version, manifest.memory_source]))),
        ("recalled text", f"{counted(manifest.tokens, 'token')} at most"),
        *((f"{role} model", name) for role, name in manifest.models.items()),
        *(("served by", place) for place in manifest.places),
        ("seed", f"{manifest.seed}, attempt {manifest.attempt}"),
        ("made by", manifest.generator),
    ]


def _user(run: FinishedRun, item: PageItem) -> Json:
    asked = [answer for answer in run.answers if answer.kind == "question" and item.has(answer)]
    periods = [[answer for answer in asked if answer.period == period] for period in range(len(item.periods))]
    return {"id": item.page_id, "name": item.name, "overall": [_share(answers) for answers in periods]}


def _share(answers: Sequence[AnswerRow]) -> float | None:
    return round(sum(answer.status == "right" for answer in answers) / len(answers), 4) if answers else None


def item_data(run: FinishedRun, item: PageItem) -> Json:
    """Everything about one item: questions, periods with what was perceived, and a row for each answer."""
    texts = Texts()
    rows = [_row(answer, texts) for answer in run.answers if item.has(answer)]
    return {"questions": item.questions, "periods": item.periods, "rows": rows, "texts": texts.all()}


def _row(answer: AnswerRow, texts: Texts) -> list[Any]:
    """In the order of FIELDS in browse.js."""
    expected, given = texts.number(answer.expected), texts.number(answer.given)
    what = [answer.period, answer.kind, answer.item, expected, given, answer.status]
    how = [texts.number(answer.reason), texts.number(answer.reply), answer.tries, answer.age, answer.failure]
    return [*what, *how, texts.number(answer.asked), [texts.number(line) for line in answer.memories]]
