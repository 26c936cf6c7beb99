"""The report of a run as one HTML page.

The page holds everything it needs and asks nothing of the network. No text of a run is taken for markup. Each user's answers
are a compressed block, unpacked when they are looked at. In it, equal texts and lines stand once and are referred to by number.
"""

import base64
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter

from assets.records.base import Record
from assets.records.estimate import interval_note
from assets.reporting.page_style import NARROW_TABLES, page_style
from assets.reporting.plurals import counted
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import TABLE
from pipelines.evaluation.metrics.results import grouped_scores
from pipelines.evaluation.records import FAILURES, AnswerRow, DialogueTurn, RunManifest
from pipelines.evaluation.report.contents import run_contents, run_notes
from pipelines.evaluation.report.formatting import RED, TAKEN_AS_TOLD, mode_label, recall_label, repeat_label, settings_line
from pipelines.evaluation.report.sections import LineChart, ReportSection, ReportTable
from pipelines.evaluation.timeline.perceived import turns_by_user
from pipelines.evaluation.timeline.steps import Act, Converse, Json, Timeline, Write

FILES = Path(__file__).parent / "page_files"
# In this order: each uses those before it, and the last one starts.
SCRIPTS = ("base", "charts", "bars", "board", "life", "run", "browse", "start")
# What could end a script element, or a line of JavaScript.
ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
SECTIONS = TypeAdapter(list[ReportSection])
LOSSES = (*FAILURES, "undiagnosed", "unscored")
# The results that are drawn first, in run.js; all others stand in the sections.
AT_THE_TOP: Json = {
    "users": True,
    "losses": True,
    "metrics": {"overall", "memory", *LOSSES},
    "baselines": {"random", "upper_bound", "everything"},
    "isolated": {"none", "memory", "facts", "gain"},
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


def page_items(timelines: Sequence[Timeline], turns: Sequence[DialogueTurn]) -> list[PageItem]:
    """Return the items of these timelines with the turns of a run."""
    by_user = turns_by_user(turns)
    items = list[PageItem]()
    for timeline in timelines:
        own = by_user.get(timeline.cluster, ())
        questions = dict[str, Json]()
        periods = list[Json]()
        for step in timeline.steps:
            if isinstance(step, Converse):
                periods.append(step.page_fields(own))
            elif isinstance(step, Write) and step.shown:
                periods.append(step.shown)
            elif isinstance(step, Act):
                periods.append({"end": "", "state": {}, "sessions": []})
        for gradable in timeline.gradables:
            if gradable.kind in ("question", "moment") and gradable.item not in questions:
                questions[gradable.item] = {"id": gradable.item, **gradable.page_fields}
        found = PageItem(timeline.cluster, timeline.name, list(questions.values()), periods, timeline.length)
        items.append(found)
    return items


def run_page(run: FinishedRun, items: Sequence[PageItem]) -> str:
    """Return one run with everything perceived, recalled and answered."""
    answers = dict[tuple[str, int], list[AnswerRow]]()
    for answer in run.answers:
        answers.setdefault((answer.user_id, answer.length), []).append(answer)
    own = [answers.get((item.user_id, item.length), ()) for item in items]
    blocks: dict[str, object] = {"data": run_data(run, items, own)}
    for index, item in enumerate(items):
        blocks[f"user-{index}"] = pack_json(item_data(item, own[index]))
    return render_blocks(f"{run.manifest.memory.name} on {run.manifest.dataset}", blocks)


def render_blocks(title: str, blocks: Mapping[str, object]) -> str:
    """Return a page of these blocks of data, drawn by the scripts of `page_files`."""
    style, script = _files()
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            blocks={name: embed_json(content) for name, content in blocks.items()},
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )


def embed_json(content: object) -> str:
    """Return JSON that can stand in a script element, whatever texts it holds."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(ESCAPED)


def pack_json(content: object) -> str:
    """Return the content as JSON, compressed by zlib and written in base64, as `unpacked` in base.js reads it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _files() -> tuple[str, str]:
    texts = [(FILES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
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


def run_data(run: FinishedRun, items: Sequence[PageItem], answers: Sequence[Sequence[AnswerRow]]) -> Json:
    """Return a run's scores, and what there is to choose from in its answers. `answers`: those of each item."""
    manifest = run.manifest
    documents = manifest.mode != "dialogue"
    errors = [f"Not evaluated to the end: {error.sentence}" for error in run.results.errors]
    return {
        "title": f"{manifest.memory.name} on {manifest.dataset}",
        "subtitle": f"Run {manifest.run_id}, {mode_label(manifest)}.",
        "facts": _facts(manifest),
        "sections": SECTIONS.dump_python([*run_contents(run), *_by_changes(run, items)], mode="json"),
        "label": manifest.memory.name,
        "results": results_on_page(run),
        "meanings": {entry.name: entry.meaning for entry in TABLE},
        "notes": [*run_notes(run), *errors, interval_note(run.results.users, manifest.noun)],
        "noun": manifest.noun,
        "red": RED,
        "place": "turn" if documents else "period",
        "perceived": "Documents" if documents else "Dialogue",
        "periods": max(len(item.periods) for item in items),
        "users": list(map(_user, items, answers)),
        "kinds": list(dict.fromkeys(answer.kind for answer in run.answers)),
        "items": sorted({answer.item for answer in run.answers}),
    }


def results_on_page(run: FinishedRun) -> Json:
    """Return the results that the page draws first."""
    return run.results.model_dump(mode="json", include=AT_THE_TOP)


def _by_changes(run: FinishedRun, items: Sequence[PageItem]) -> Iterator[ReportSection]:
    """Yield the scores by how often the needed values had changed when they were asked for; nothing where none has a state."""
    changes = dict[tuple[str, int, str], int]()
    for item in items:
        for question in item.questions:
            for period in range(len(item.periods)):
                count = sum(_changes(item, name, period) for name in question["required"])
                changes[item.user_id, period, question["id"]] = count
    if not any(changes.values()):
        return
    asked = [answer for answer in run.answers if answer.kind == "question"]
    groups = grouped_scores(asked, lambda row: changes[row.user_id, row.period, row.item], run.manifest)
    points = [(float(number), score) for number, score in groups.items()]
    chart = LineChart("changes so far", "overall", {"overall": points})
    title = "By changes of the needed values until then"
    yield ReportSection("changes", title, [ReportTable(["changes", "overall"], list(groups.items())), chart])


def _changes(item: PageItem, name: str, period: int) -> int:
    values = [lived["state"].get(name) for lived in item.periods[: period + 1]]
    return sum(before != after for before, after in pairwise(values))


def plain(record: Record) -> Any:
    """Return the record as JSON's own types."""
    return record.model_dump(mode="json")


def _facts(manifest: RunManifest) -> list[tuple[str, str]]:
    users = counted(len(manifest.users), manifest.noun)
    memory = [manifest.memory.kind, settings_line(manifest.memory), manifest.memory_version, manifest.memory_source]
    facts = [
        ("dataset", f"{manifest.dataset}, {users}, digest {manifest.dataset_digest[:8]}"),
        ("memory", ", ".join(filter(None, memory))),
        ("recalled text", ", ".join(filter(None, [f"{counted(manifest.tokens, 'token')} at most", recall_label(manifest)]))),
    ]
    if manifest.memory_files:
        facts.append(("its files", ", ".join(manifest.memory_files)))
    for role in manifest.models:
        facts.append((f"{role} model", manifest.model_of(role)))
    if manifest.more_models:
        facts.append(("the memory may also ask", ", ".join(manifest.more_models)))
    for place in manifest.places:
        facts.append(("served by", place))
    facts.append(("seed", f"{manifest.seed}, attempt {manifest.attempt}"))
    facts += [("made by", manifest.generator), ("a repetition", repeat_label(manifest))]
    facts.append(
        ("not verified", f"{'; '.join(TAKEN_AS_TOLD)}. The rest is, once somebody runs: amemgym verify {manifest.run_id}")
    )
    return facts


def _user(item: PageItem, answers: Sequence[AnswerRow]) -> Json:
    """Return the item with its share of right answers by period, None where nothing was asked."""
    asked = Counter[int]()
    right = Counter[int]()
    for answer in answers:
        if answer.kind == "question":
            asked[answer.period] += 1
            right[answer.period] += answer.status == "right"
    shares = list[float | None]()
    for period in range(len(item.periods)):
        shares.append(round(right[period] / asked[period], 4) if asked[period] else None)
    return {"id": item.page_id, "name": item.name, "overall": shares}


def item_data(item: PageItem, answers: Sequence[AnswerRow]) -> Json:
    """Return everything about one item: questions, periods with what was perceived, and its answers in columns.

    A text in a column is a number of `texts`, where a text is a list of numbers of `lines`.
    """
    texts = Texts()
    columns = dict[str, list[Any]]()
    for answer in answers:
        for name, value in _cells(answer, texts).items():
            columns.setdefault(name, []).append(value)
    lines = Texts()
    shared = [list(map(lines.number, text.split("\n"))) for text in texts.all()]
    return {"questions": item.questions, "periods": item.periods, "columns": columns, "texts": shared, "lines": lines.all()}


def _cells(answer: AnswerRow, texts: Texts) -> Json:
    return {
        "period": answer.period,
        "kind": answer.kind,
        "item": answer.item,
        "expected": texts.number(answer.expected),
        "given": texts.number(answer.given),
        "status": answer.status,
        "reason": texts.number(answer.reason),
        "reply": texts.number(answer.reply),
        "tries": answer.tries,
        "age": answer.age,
        "failure": answer.failure,
        "sent": texts.number(answer.asked),
        "memories": list(map(texts.number, answer.memories)),
        "evidence": [answer.evidence, answer.evidence_recalled, answer.recalled_events],
    }
