"""The report of a run as one HTML page.

The page holds everything it needs and asks nothing of the network. No text of a run is taken for markup. Texts that come
again and again, such as memories, stand once in the page's JSON and are referred to by number.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter

from assets.records.base import Record
from assets.records.estimate import FEWEST_ITEMS, ROUGH
from assets.reporting.page_style import NARROW_TABLES, page_style
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import TABLE
from pipelines.evaluation.records import AnswerRow, RunManifest
from pipelines.evaluation.report.contents import ReportSection, run_contents, run_notes
from pipelines.evaluation.report.formatting import RED, interval_note, mode_label, recall_label, settings_line

FILES = Path(__file__).parent / "page_files"
# In this order: each uses those before it, and the last one starts.
SCRIPTS = ("base", "charts", "board", "run", "browse", "start")
# What could end a script element, or a line of JavaScript.
ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
Json = dict[str, Any]
SECTIONS = TypeAdapter(list[ReportSection])
# The results that runHero in run.js draws; all others stand in the sections.
AT_THE_TOP: Json = {
    "users": True,
    "metrics": {"overall", "memory", "unscored"},
    "baselines": {"random", "upper_bound", "everything"},
    "isolated": {"gain"},
}


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
        """The id that tells it apart on the page."""
        return f"{self.user_id} at {self.length}" if self.length else self.user_id

    def has(self, answer: AnswerRow) -> bool:
        """Return True where the answer is to one of its questions."""
        return (answer.user_id, answer.length) == (self.user_id, self.length)


def run_page(run: FinishedRun, items: Sequence[PageItem]) -> str:
    """Return one run with everything perceived, recalled and answered.

    Each item's texts are a block, parsed when it is looked at.
    """
    blocks: dict[str, object] = {"data": run_data(run, items)}
    for index, item in enumerate(items):
        blocks[f"user-{index}"] = item_data(run, item)
    return render_blocks(f"{run.manifest.memory.name} on {run.manifest.dataset}", blocks)


def render_blocks(title: str, blocks: Mapping[str, object], *, scripts: tuple[str, ...] = SCRIPTS) -> str:
    """Return a page of these blocks of data, drawn by these scripts of `page_files`, the last of which starts."""
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
    """Return JSON that can stand in a script element, whatever texts it holds."""
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
        """Return the text's number; a new text gets the next one."""
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[str]:
        """Return the texts in the order of their numbers."""
        return list(self._numbers)


def run_data(run: FinishedRun, items: Sequence[PageItem]) -> Json:
    """Return a run's scores, and what there is to choose from in its answers."""
    manifest = run.manifest
    documents = manifest.mode == "documents"
    return {
        "title": f"{manifest.memory.name} on {manifest.dataset}",
        "subtitle": f"Run {manifest.run_id}, {mode_label(manifest)}.",
        "facts": _facts(manifest),
        "sections": SECTIONS.dump_python(list(run_contents(run)), mode="json"),
        "results": run.results.model_dump(mode="json", include=AT_THE_TOP),
        "meanings": {entry.name: entry.meaning for entry in TABLE},
        "notes": _notes(run),
        "noun": manifest.noun,
        "red": RED,
        "mark": ROUGH if run.results.users < FEWEST_ITEMS else "",
        "place": "turn" if documents else "period",
        "perceived": "Documents" if documents else "Dialogue",
        "periods": max(len(item.periods) for item in items),
        "users": list(map(partial(_user, run), items)),
        "kinds": list(dict.fromkeys(answer.kind for answer in run.answers)),
        "items": sorted({answer.item for answer in run.answers}),
    }


def plain(record: Record) -> Any:
    """Return the record as JSON's own types."""
    return record.model_dump(mode="json")


def _notes(run: FinishedRun) -> list[str]:
    """Return the sentences that stand above all scores."""
    errors = [f"Not evaluated to the end: {error.sentence}" for error in run.results.errors]
    return [*run_notes(run), *errors, interval_note(run.results.users, run.manifest.noun)]


def _facts(manifest: RunManifest) -> list[tuple[str, str]]:
    users = counted(len(manifest.users), manifest.noun)
    memory = [manifest.memory.kind, settings_line(manifest.memory), manifest.memory_version, manifest.memory_source]
    facts = [
        ("dataset", f"{manifest.dataset}, {users}, digest {manifest.dataset_digest[:8]}"),
        ("memory", ", ".join(filter(None, memory))),
        ("recalled text", ", ".join(filter(None, [f"{counted(manifest.tokens, 'token')} at most", recall_label(manifest)]))),
    ]
    for role in manifest.models:
        facts.append((f"{role} model", manifest.model_of(role)))
    for place in manifest.places:
        facts.append(("served by", place))
    facts.append(("seed", f"{manifest.seed}, attempt {manifest.attempt}"))
    facts.append(("made by", manifest.generator))
    return facts


def _user(run: FinishedRun, item: PageItem) -> Json:
    """Return the item with its share of right answers by period, None where nothing was asked."""
    asked = Counter[int]()
    right = Counter[int]()
    for answer in run.answers:
        if answer.kind == "question" and item.has(answer):
            asked[answer.period] += 1
            right[answer.period] += answer.status == "right"
    shares = list[float | None]()
    for period in range(len(item.periods)):
        shares.append(round(right[period] / asked[period], 4) if asked[period] else None)
    return {"id": item.page_id, "name": item.name, "overall": shares}


def item_data(run: FinishedRun, item: PageItem) -> Json:
    """Return everything about one item: questions, periods with what was perceived, and a row for each answer."""
    texts = Texts()
    rows = [_row(answer, texts) for answer in run.answers if item.has(answer)]
    return {"questions": item.questions, "periods": item.periods, "rows": rows, "texts": texts.all()}


def _row(answer: AnswerRow, texts: Texts) -> list[Any]:
    """Return the answer in the order of FIELDS in browse.js."""
    return [
        answer.period,
        answer.kind,
        answer.item,
        texts.number(answer.expected),
        texts.number(answer.given),
        answer.status,
        texts.number(answer.reason),
        texts.number(answer.reply),
        answer.tries,
        answer.age,
        answer.failure,
        texts.number(answer.asked),
        list(map(texts.number, answer.memories)),
        [answer.evidence, answer.evidence_recalled, answer.recalled_events],
    ]
