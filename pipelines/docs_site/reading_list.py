"""The guide's page of what one must read to trust a number: `python -m pipelines.docs_site.reading_list` writes it anew."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "pipelines" / "guide" / "reference" / "trust.md"
MOST_LINES = 2500


class Reading(NamedTuple):
    """A file or a folder, and what one learns there."""

    path: str
    why: str


NUMBER = (
    Reading(
        "pipelines/evaluation/verifying/by_hand.py",
        "the right option of each question, what each reply chose, the shares, the interval, the memory score; and that every "
        "question was asked in the release's words, after all that was told",
    ),
)
ROWS = (
    Reading("pipelines/evaluation/amemgym/tasks.py", "what happens to a user, in which order: live a period, then ask a copy"),
    Reading("pipelines/evaluation/timeline/steps.py", "the steps that there are, and what is perceived in each"),
    Reading("pipelines/evaluation/timeline/play.py", "the runner: what the memory has been told whenever something is asked"),
    Reading("pipelines/evaluation/timeline/subjects.py", "the memory with our reasoner, and what it is told of a session"),
    Reading("pipelines/evaluation/timeline/context.py", "that all questions have one reasoner, and memories no other model"),
    Reading("pipelines/evaluation/timeline/alone.py", "which answers a run has from the one that all memories share"),
    Reading("pipelines/evaluation/run.py", "that each item is played, and that one which fails counts as wrong"),
    Reading("pipelines/memories/contract.py", "what a memory is asked, and how its texts are cut to the budget"),
    Reading("pipelines/memories/hosting/hosted.py", "that each text is the memory's own, and that a copy sees nothing later"),
    Reading("pipelines/evaluation/isolated.py", "which texts stand before the reasoner, in each condition"),
    Reading("pipelines/evaluation/reasoning.py", "that it reads these texts and the question, and nothing else"),
)
PROMPTS = (
    Reading("prompts/evaluation/remember.md", "what the reasoner is told, with the recalled texts"),
    Reading("prompts/evaluation/choose_answer.md", "how a question is asked"),
    Reading("prompts/evaluation/choose_with_state.md", "the same with the true state: the upper bound"),
    Reading("prompts/evaluation/tell_states.md", "how states are probed"),
    Reading("prompts/evaluation/ask_again.md", "what is said after a reply that cannot be read"),
    Reading("prompts/evaluation/follow_up.md", "what the simulated user is told"),
    Reading("prompts/evaluation/check_turn.md", "how its messages are checked"),
)
CARRIERS = (
    Reading("pipelines/resources", "the client, its retries, the reply cache and the ledger carry requests and replies"),
    Reading("pipelines/memories/others", "the process of a memory carries its calls, and the models that it asks"),
    Reading("assets/isolation", "the boundary around that process; attacks on it are tests"),
)
TEXT = """# What one must read to trust a number

A score of AMemGym comes about in two steps: a memory's answers become rows, and rows become a number. This page lists what one
has to read to be sure of both: **{total:,} lines in all**, prompts among them. It leaves out what anybody can see in a run's
files without reading how they were made.

## From the rows to the number

`answers.parquet` has each question word for word, what was recalled for it, and the reply. One file computes the headline
numbers from these rows and the release's `data.json`. It imports nothing of this project, so it is all that one has to read:

```
python -I pipelines/evaluation/verifying/by_hand.py RUN_FOLDER data.json
```

{number}

`amemgym verify RUN` does the same with the project's own code, for all numbers, and [more](security.md#memories-of-others).

## From the memory to the rows

That a reply is what the reasoner said to these texts and this question, and that the texts are what the memory gave back when
it had been told what came before and no more:

{rows}

## The words

{prompts}

## What is left out, and why

- What stands in the files: which questions are asked with which options (`answers.parquet`, held against the release by the
  file above), what the simulated user said (`turns.parquet`), what each item took (`usage.parquet`).
- What only describes a run: other metrics, reports, pages, boards. They follow from the rows, and `verify` computes them again.
- What makes a release. Its own report says how good it is.
- What carries calls and replies unchanged. Whoever doubts this too reads more:

{carriers}

`amemgym verify RUN --again 100` needs none of this: with local models it makes the whole run once more, and compares it byte
by byte.
"""


def reading_list() -> str:
    """Return the page with the lines that its files have now."""
    tables = {"number": _table(NUMBER), "rows": _table(ROWS), "prompts": _table(PROMPTS)}
    carriers = ["| folder | what it does | lines |", "|---|---|---|"]
    for folder in CARRIERS:
        carriers.append(f"| `{folder.path}` | {folder.why} | about {lines_of(folder.path) / 1000:.0f} thousand |")
    return TEXT.format(total=total_lines(), carriers="\n".join(carriers), **tables)


def total_lines() -> int:
    """Return the lines of all that is on the list."""
    return sum(lines_of(file.path) for file in (*NUMBER, *ROWS, *PROMPTS))


def lines_of(path: str) -> int:
    """Return the lines of a file, or of all modules in a folder."""
    place = ROOT / path
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def _table(readings: Sequence[Reading]) -> str:
    rows = [f"| [`{file.path}`](../../../{file.path}) | {file.why} | {lines_of(file.path):,} |" for file in readings]
    total = sum(lines_of(file.path) for file in readings)
    last = [f"| all | | {total:,} |"] if len(readings) > 1 else []
    return "\n".join(["| file | what one learns | lines |", "|---|---|---|", *rows, *last])


if __name__ == "__main__":
    PAGE.write_text(reading_list(), encoding="utf-8")
