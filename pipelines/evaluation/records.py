"""What a run writes: the turns of its dialogues, the answers to its questions, and what it was made from."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from assets.records.base import Record
from pipelines.evaluation.spending import Toll

AskKind = Literal["question", "state", "state_or_unknown", "upper_bound", "options_only", "no_memory"]
Status = Literal["right", "wrong", "unknown", "unscored"]
Failure = Literal["", "write", "read", "utilization", "undiagnosed"]
Mode = Literal["on-policy", "off-policy"]


class Turn(Record):
    """A user's message and the assistant's reply. Round 0 opens the session with its query.

    `tries`: how often the simulator was asked. `breaches`: what the kept message still gives away about the schema.
    """

    user_id: str
    period: int
    session: int
    round: int
    at: datetime
    message: str
    reply: str
    tries: int = 1
    breaches: tuple[str, ...] = ()


class Answer(Record):
    """One scored item: a question, a variable of a state probe, or a baseline's question, at the end of one period.

    `item`: question id or variable. `given`: choice id or value, "" when nothing could be read. `options`: how many
    could be chosen. `shown`: place of the right option, from 1. `age`: periods since the oldest needed value was told.
    `failure`: for a wrong answer, the stage that lost it; `failure_if_unsure` the same by the probes that allow "unknown";
    `write_share` and so on the same corrected for guessed probes, see `diagnosis`. `calls`, tokens and money are of the
    whole ask, which the rows of one state probe share.
    """

    user_id: str
    period: int
    kind: AskKind
    item: str
    expected: str
    given: str
    status: Status
    reason: str
    reply: str
    tries: int
    options: int
    shown: int
    required: int
    age: int
    memories: tuple[str, ...] = ()
    failure: Failure = ""
    failure_if_unsure: Failure = ""
    write_share: float = 0.0
    read_share: float = 0.0
    utilization_share: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    nano_usd: int | None = 0


class PeriodLived(Record):
    """A checkpoint: one period's dialogues, and the assistant's memory after them (base64)."""

    turns: tuple[Turn, ...]
    snapshot: str
    toll: Toll


class Asked(Record):
    """A checkpoint: the answers of one interview, or of one user's baselines.

    `seconds`: model time of each answer to a question, None where it was not measured.
    """

    answers: tuple[Answer, ...] = ()
    seconds: tuple[float | None, ...] = ()
    toll: Toll = Field(default_factory=Toll)


class AssistantSpec(Record):
    """An assistant to evaluate: its name in reports, its kind, and the kind's own settings."""

    name: str
    kind: str
    settings: dict[str, str | int | float | bool | None] = Field(default_factory=dict[str, str | int | float | bool | None])


class RunManifest(Record):
    """All that decides a run's results; its digest names the run.

    `embedding`: the model of `tools.embedder`, for kinds that come by entry point; built-in ones have it in their settings.
    """

    format: Literal[1] = 1
    run_id: str
    dataset: str
    dataset_digest: str
    users: tuple[str, ...]
    rounds_initial: int
    rounds_update: int
    language: str
    assistant: AssistantSpec
    assistant_version: str
    simulator: str
    judge: str
    mode: Mode
    replayed_run: str
    seed: int
    attempt: int
    unknown_probe: bool
    baselines: bool
    prompts: dict[str, str]
    generator: str
    embedding: str = Field(default="", exclude_if=lambda name: not name)
