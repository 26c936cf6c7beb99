"""Operations of a memory: what it stores, what its writes take, what a right answer takes. Seconds stand in `latency.json`."""

from collections.abc import Sequence

from assets.records.base import Record
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.spending import MemoryWork, StepUsage

OWN_PURPOSES = ("memory", "embeddings")
MEANINGS: dict[str, str] = {
    "stored_per_event": "bytes of texts and index for each message or document, when its user or task ends",
    "index_to_source": "these bytes divided by those of the texts that were written",
    "calls_per_write": "model calls inside a write, of a session or a turn of documents",
    "tokens_per_right": "tokens of all answers and of the memory's own models, divided by the number of right answers",
    "prefix_kept": "of a reply's prompt in a dialogue, the beginning that it shares with the prompt before it: what a "
    "provider's prefix cache could keep",
}


class Operations(Record):
    """The figures that `MEANINGS` tells; None where there is nothing to divide by, or the memory does not say what it stores.

    `work`: the counts that they are made from, which stand in no row.
    """

    stored_per_event: float | None
    index_to_source: float | None
    calls_per_write: float | None
    tokens_per_right: float | None
    prefix_kept: float | None
    work: MemoryWork


def operations_of(questions: Sequence[AnswerRow], usage: StepUsage) -> Operations:
    """Return the operations of a run with these answers to its questions."""
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
        tokens_per_right=_quotient(tokens, right),
        prefix_kept=_quotient(work.kept, work.sent),
        work=work,
    )


def _quotient(above: int | None, below: int) -> float | None:
    return None if above is None or not below else round(above / below, 4)
