"""What the pages show, as JSON. Texts that come again and again, such as memories, stand once and are named by number."""

from collections.abc import Mapping, Sequence
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.records.base import Record
from pipelines.evaluation.dataset import Dataset
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import Answer, RunManifest, Turn
from pipelines.evaluation.report.formatting import BOARD, MEANINGS, baseline_words, mode_words, settings_words
from pipelines.evaluation.report.labels import labels
from pipelines.evaluation.report.markdown import ordered
from pipelines.experiments.compare import Comparison

Json = dict[str, Any]


class Texts:
    """Texts by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The text's number; a new text gets the next one."""
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


def run_data(run: FinishedRun, dataset: Dataset) -> Json:
    """A run's scores, and what there is to choose from in its answers."""
    manifest = run.manifest
    return {
        "title": f"{manifest.assistant.name} on {manifest.dataset}",
        "subtitle": f"Run {manifest.run_id}, {mode_words(manifest)}.",
        "facts": _facts(manifest),
        "results": plain(run.results),
        "meanings": MEANINGS,
        "users": [_user(run, episode) for episode in dataset.episodes],
        "kinds": list(dict.fromkeys(answer.kind for answer in run.answers)),
        "items": list(dict.fromkeys(answer.item for answer in sorted(run.answers, key=lambda answer: answer.item))),
    }


def plain(record: Record) -> Any:
    """The record as JSON's own types."""
    return record.model_dump(mode="json")


def _facts(manifest: RunManifest) -> list[tuple[str, str]]:
    settings = settings_words(manifest.assistant)
    return [
        ("dataset", f"{manifest.dataset}, {len(manifest.users)} users, digest {manifest.dataset_digest[:16]}"),
        ("assistant", f"{manifest.assistant.name}: {manifest.assistant.kind}, {settings}; {manifest.assistant_version}"),
        ("user simulated by", f"{manifest.simulator}, checked by {manifest.judge}"),
        ("seed", f"{manifest.seed}, attempt {manifest.attempt}"),
        ("made by", manifest.generator),
    ]


def _user(run: FinishedRun, episode: Episode) -> Json:
    asked = [answer for answer in run.answers if answer.user_id == episode.user_id and answer.kind == "question"]
    periods = [[answer for answer in asked if answer.period == period] for period in range(len(episode.periods))]
    return {
        "id": episode.user_id,
        "name": episode.user_profile.name,
        "overall": [_share([answer for answer in answers if answer.status != "unscored"]) for answers in periods],
    }


def _share(answers: Sequence[Answer]) -> float | None:
    return round(sum(answer.status == "right" for answer in answers) / len(answers), 4) if answers else None


def user_data(run: FinishedRun, episode: Episode) -> Json:
    """Everything about one user: questions, periods with their dialogues, and a row for each answer."""
    texts = Texts()
    rows = [_row(answer, texts) for answer in run.answers if answer.user_id == episode.user_id]
    turns = [turn for turn in run.turns if turn.user_id == episode.user_id]
    return {
        "questions": [
            {
                "id": question.question_id,
                "query": question.query,
                "required": question.required_info,
                "options": [
                    {"id": option.choice_id, "text": option.answer, "state": option.state} for option in question.answer_choices
                ],
            }
            for question in episode.questions
        ],
        "periods": [
            _period(episode, [turn for turn in turns if turn.period == index], index) for index in range(len(episode.periods))
        ],
        "rows": rows,
        "texts": texts.all(),
    }


def _row(answer: Answer, texts: Texts) -> list[Any]:
    """In the order of FIELDS in browse.js."""
    expected, given = texts.number(answer.expected), texts.number(answer.given)
    what = [answer.period, answer.kind, answer.item, expected, given, answer.status]
    how = [texts.number(answer.reason), texts.number(answer.reply), answer.tries, answer.age, answer.failure]
    return [*what, *how, [texts.number(line) for line in answer.memories]]


def _period(episode: Episode, turns: Sequence[Turn], index: int) -> Json:
    period = episode.periods[index]
    return {
        "end": period.period_end.isoformat(),
        "state": period.state,
        "sessions": [
            {
                "at": session.session_time.isoformat(sep=" "),
                "event": session.event or "",
                "exposed": session.exposed_states,
                "turns": [
                    {"message": turn.message, "reply": turn.reply, "breaches": turn.breaches}
                    for turn in turns
                    if turn.session == number
                ],
            }
            for number, session in enumerate(period.sessions)
        ],
    }


def board_data(comparison: Comparison, *, pages: Mapping[str, str]) -> Json:
    """Several runs' scores, and what lies between them."""
    runs, names = ordered(comparison.runs), labels(comparison.runs)
    first = runs[0]
    return {
        "title": f"{len(runs)} run{'s' * (len(runs) > 1)} on {first.manifest.dataset}",
        "subtitle": f"Digest {first.manifest.dataset_digest[:16]}; {len(comparison.users)} users in common.",
        "facts": [],
        "columns": [name for name in BOARD if name not in ("overall", "memory")],
        "runs": [
            {"label": names[run.manifest.run_id], "page": pages.get(run.manifest.run_id), **_board_run(run)} for run in runs
        ],
        "baselines": [
            {"label": told, "estimate": plain(first.results.baselines[name])}
            for name, told in baseline_words(names[first.manifest.run_id]).items()
        ],
        "users": len(comparison.users),
        "pairs": [{"title": pair.title, "differences": [plain(one) for one in pair.differences]} for pair in comparison.pairs],
        "policies": [plain(row) for row in comparison.policies],
    }


def _board_run(run: FinishedRun) -> Json:
    results = run.results
    return {
        **plain(results),
        "mode": run.manifest.mode,
        "tokens": results.costs["input_tokens_per_answer"].value,
        "seconds": plain(run.latency.mean),
        "unscored": results.counts.get("question.unscored", 0),
    }
