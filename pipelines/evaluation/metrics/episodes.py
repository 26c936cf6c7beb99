"""Figures of episodes: how an agent acted with the memory, and with what stood in its place."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from assets.records.base import Record
from pipelines.agents.actions import EpisodeStep, read_episode
from pipelines.evaluation.records import OF_MEMORY, AnswerRow

WITH_TEXT = ("text", "filled")


class EpisodeFigures(Record):
    """The episodes of one kind. Steps, lookups and writes are means over episodes.

    `fired`: the share of episodes in which the memory gave any text; None where no memory was asked, as for the next three.
    `asked`: how often it was asked in an episode; of that `gave` is the share with any text, and `filled` with a full budget.
    `useless`: steps that were no action, or were refused. `tokens_per_pass`: tokens sent and received for each episode that
    passed; None where none did.
    """

    kind: str
    episodes: int
    passed: int
    fired: float | None
    asked: float | None
    gave: float | None
    filled: float | None
    steps: float
    lookups: float
    writes: float
    useless: float
    tokens_per_pass: float | None


def episode_figures(answers: Iterable[AnswerRow]) -> tuple[EpisodeFigures, ...]:
    """Return the figures by kind, in the order in which kinds come; none of rows whose replies are no episodes."""
    by_kind: dict[str, list[tuple[AnswerRow, Sequence[EpisodeStep]]]] = {}
    for row in answers:
        try:
            steps = read_episode(row.reply)
        except ValidationError:
            continue
        by_kind.setdefault(row.kind, []).append((row, steps))
    return tuple(_figures(kind, rows) for kind, rows in by_kind.items())


def _figures(kind: str, rows: Sequence[tuple[AnswerRow, Sequence[EpisodeStep]]]) -> EpisodeFigures:
    did: Counter[str] = Counter()
    given: Counter[str] = Counter()
    passed = fired = tokens = 0
    for row, steps in rows:
        did.update(step.did for step in steps)
        given.update(step.memory for step in steps if step.memory)
        passed += row.status == "right"
        fired += bool(row.memories) or any(step.memory in WITH_TEXT for step in steps)
        tokens += row.input_tokens + row.output_tokens
    count = len(rows)
    asked = given.total()
    of_memory = kind in OF_MEMORY
    return EpisodeFigures(
        kind=kind,
        episodes=count,
        passed=passed,
        fired=round(fired / count, 6) if of_memory else None,
        asked=round(asked / count, 6) if of_memory else None,
        gave=round((asked - given["nothing"]) / asked, 6) if of_memory and asked else None,
        filled=round(given["filled"] / asked, 6) if of_memory and asked else None,
        steps=round(did.total() / count, 6),
        lookups=round(did["looked"] / count, 6),
        writes=round(did["wrote"] / count, 6),
        useless=round(did["nothing"] / count, 6),
        tokens_per_pass=round(tokens / passed, 1) if passed else None,
    )
