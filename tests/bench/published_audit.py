"""Audit a published set: `python -m tests.bench.published_audit data.json ROWS.jsonl`.

It prints how many texts of each kind fail each check of `amemgym quality`, and writes each failing one as a line of JSON. A
seed draws the rows that somebody reads by hand.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from assets.amemgym.episode_parts import parts_of
from assets.amemgym.records.episode import Episode
from assets.engine.seeded_random import SeededRandom
from assets.recipe.amemgym import AMemGymRecipe
from assets.text.languages import common_words
from assets.text.near_spelling import copies_value
from assets.text.text_checks import CHECKS, SPELLS_NOTHING, TextInContext
from assets.text.words import spells
from pipelines.evaluation.amemgym.given_data import recipe_of
from pipelines.evaluation.amemgym.tasks import open_amemgym
from pipelines.home import home
from pipelines.resources.storage.open_stores import open_release_store
from validation.amemgym.texts import check_texts

READ_BY_HAND = 100  # rows of each class, drawn at random where there are more
ADVICE = {(kind, check.name) for kind, checks in CHECKS.items() for check in checks if not check.blocking}


@dataclass(frozen=True)
class AuditRow:
    """One text that fails a check. `values`: those that it is about."""

    finding: str
    user: str
    text: str
    values: tuple[str, ...]
    why: str


def audit_rows(episode: Episode, recipe: AMemGymRecipe) -> Iterator[AuditRow]:
    """Yield what blocks a release in one user's texts. Whether a value is told in its words is asked more strictly."""
    for checked in check_texts(parts_of(episode), recipe):
        context = checked.context
        found = [(check.name, why) for check, why in checked.faults if check != SPELLS_NOTHING]
        if context.kind in ("query", "answer"):
            found += copied_values(context)
        for check, why in found:
            if (context.kind, check) not in ADVICE:
                yield AuditRow(f"{context.kind}: {check}", episode.user_id, context.text, tuple(context.own), why)


def copied_values(context: TextInContext) -> Iterator[tuple[str, str]]:
    """Yield which values a text spells in so many words; else of which it has all words side by side, in another form."""
    spelled = [value for value in context.own if spells(context.text, value)]
    common = common_words(context.language)
    copied = [value for value in context.own if copies_value(context.text, value, ignored=common)]
    if spelled:
        yield "spells", f"spells {spelled}"
    elif copied:
        yield "other form", f"has all words of {copied} side by side"


def main(data: str, rows_file: str) -> None:
    dataset = open_amemgym(data, release_store=open_release_store(home()), settings={}).dataset
    recipe = recipe_of(dataset)
    texts = Counter(checked.context.kind for episode in dataset.episodes for checked in check_texts(parts_of(episode), recipe))
    rows = [row for episode in dataset.episodes for row in audit_rows(episode, recipe)]
    print("| finding | rows | of | share |\n|---|---|---|---|")
    for finding, count in sorted(Counter(row.finding for row in rows).items()):
        total = texts[finding.partition(":")[0]]  # pyright: ignore[reportArgumentType] - a kind of text
        print(f"| {finding} | {count} | {total} | {count / total:.1%} |")
    drawn = set[AuditRow]()
    for finding in {row.finding for row in rows}:
        own = [row for row in rows if row.finding == finding]
        drawn |= set(SeededRandom(0, "audit", finding).shuffled(own)[:READ_BY_HAND])
    lines = [json.dumps({**asdict(row), "read_by_hand": row in drawn}, ensure_ascii=False) for row in rows]
    Path(rows_file).write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
