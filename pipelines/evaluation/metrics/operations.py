"""Operations of a memory: what it stores and gives back, what writes and right answers take. Seconds are in `latency.json`."""

from collections.abc import Mapping, Sequence

from assets.records.base import Record
from assets.reporting.plurals import counted
from assets.text.words import count_tokens
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.report.numbers import format_number, meanings_note, metric_label
from pipelines.evaluation.report.sections import ReportSection, ReportTable
from pipelines.evaluation.spending import MemoryWork, StepUsage

DIGITS = {"stored_per_event": 0, "instructions": 0, "tokens_per_right": 0, "repeated_calls": 4}  # where they are not two
OWN_PURPOSES = ("memory", "embeddings")
MEANINGS: dict[str, str] = {
    "stored_per_event": "bytes of texts and index for each message or document, when its user or task ends",
    "index_to_source": "these bytes divided by those of the texts that were written",
    "calls_per_write": "model calls inside a write, of a session or a turn of documents",
    "given_back": "share of the messages or documents written so far that a recall gives back, word for word",
    "instructions": "tokens of the lines that stand in everything it gives back, whoever the user is",
    "tokens_per_right": "tokens of all answers and of the memory's own models, divided by the number of right answers",
    "repeated_calls": "share of the memory's calls that failed for a reason which passes, such as 502, and were made again",
}


class Operations(Record):
    """The figures that `MEANINGS` tells; None where there is nothing to divide by, or the memory does not show it.

    `work`: the counts that they are made from, which stand in no row.
    """

    stored_per_event: float | None
    index_to_source: float | None
    calls_per_write: float | None
    given_back: float | None
    instructions: int | None
    tokens_per_right: float | None
    repeated_calls: float | None
    work: MemoryWork


def operations_of(
    questions: Sequence[AnswerRow], usage: StepUsage, *, words_kept: bool = True, dialogues: bool = False
) -> Operations:
    """Return the operations of a run with these answers to its questions. `words_kept`: the memory does not rewrite.

    `dialogues`: no two users have heard the same, as tasks over documents may.
    """
    work = usage.work
    right = sum(row.status == "right" for row in questions)
    tokens = sum(row.input_tokens + row.output_tokens for row in questions)
    for purpose in OWN_PURPOSES:
        if purpose in usage.spending:
            tokens += usage.spending[purpose].input_tokens + usage.spending[purpose].output_tokens
    return Operations(
        stored_per_event=_quotient(work.stored_bytes, work.events),
        index_to_source=_quotient(work.stored_bytes, work.source_bytes),
        calls_per_write=_quotient(work.write_calls, work.writes),
        given_back=_quotient(sum(row.recalled_events for row in questions), sum(row.told for row in questions) * words_kept),
        instructions=_instructions(questions) if dialogues else None,
        tokens_per_right=_quotient(tokens, right),
        repeated_calls=_quotient(work.repeated, work.calls),
        work=work,
    )


def losses_of(work: MemoryWork) -> str:
    """Return what was lost of a memory's calls, and which writes were repeated, in words; "" where nothing was."""
    found = list[str]()
    for number, noun, what in (
        (work.lost_writes, "write", "lost"),
        (work.lost - work.lost_writes, "other call", "lost"),
        (work.repeated_writes, "write", "repeated"),
    ):
        if number:
            found.append(f"{counted(number, noun)} {what}")
    return ", ".join(found)


def _quotient(above: int | None, below: int) -> float | None:
    return None if above is None or not below else round(above / below, 4)


def _instructions(questions: Sequence[AnswerRow]) -> int | None:
    """Return the tokens of the lines in all that was recalled; None for one user alone, whose own words these may be."""
    recalled = [row for row in sorted(questions, key=lambda row: row.period) if row.memories]
    if len({row.user_id for row in recalled}) < 2:
        return None
    common = dict[str, None]()
    for number, row in enumerate(recalled):
        lines = dict.fromkeys(line for text in row.memories for line in text.splitlines())
        common = {line: None for line in common if line in lines} if number else lines
        if not common:
            break
    return sum(map(count_tokens, common))


def operations_section(operations: Operations) -> ReportSection:
    """Return the section of a run's report."""
    rows = [[metric_label(name), _label(operations, name), meaning] for name, meaning in MEANINGS.items()]
    return ReportSection("operations", "Operations of the memory", [ReportTable(["", "", "meaning"], rows)])


def operations_board(named: Mapping[str, Operations]) -> ReportSection:
    """Return the section below a board: a line for each run by its name."""
    rows = [[label, *(_label(operations, name) for name in MEANINGS)] for label, operations in named.items()]
    table = ReportTable(["memory system", *map(metric_label, MEANINGS)], rows)
    return ReportSection("operations", "Operations of the memories", [meanings_note(MEANINGS), table])


def _label(operations: Operations, name: str) -> str:
    return format_number(getattr(operations, name), digits=DIGITS.get(name, 2))
