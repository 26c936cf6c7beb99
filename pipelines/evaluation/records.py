"""What a run writes: the turns of its dialogues, the answers to its questions, and what it was made from."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from assets.records.base import Record
from pipelines.evaluation.spending import Checkpoint

AskKind = Literal["question", "state", "state_or_unknown", "upper_bound", "options_only", "no_memory"]
Status = Literal["right", "wrong", "unknown", "unscored"]
Failure = Literal["", "write", "read", "utilization", "undiagnosed"]
Mode = Literal["on-policy", "off-policy"]


class DialogueTurn(Record):
    """A user's message and the assistant's reply. Round 0 opens the session with its query.

    `tries`: how often the simulator was asked. `breaches`: what the message that was sent still gives away about the schema.
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


class AnswerRow(Record):
    """One scored item: a question, a variable of a state probe, or a baseline's question, at the end of one period.

    Calls, tokens and money are of the whole ask, which the rows of one state probe share.
    """

    user_id: str = Field(description="the persona's uuid")
    period: int = Field(description="at the end of which period it was asked, from 0")
    kind: AskKind = Field(description="a question, a state probe, or a baseline's question")
    item: str = Field(description="question id or variable")
    expected: str = Field(description="the choice id or value that is right")
    given: str = Field(description="the choice id or value chosen; empty when nothing could be read")
    status: Status = Field(description="right, wrong, unknown (said so) or unscored (unreadable)")
    reason: str = Field(description="why it is unscored; else empty")
    reply: str = Field(description="the assistant's last words")
    tries: int = Field(description="how often it was asked")
    options: int = Field(description="how many could be chosen")
    shown: int = Field(description="place of the right option, from 1")
    required: int = Field(description="state variables that the answer depends on")
    age: int = Field(description="periods since the oldest value needed was told")
    memories: tuple[str, ...] = Field(default=(), description="what the assistant had found in its memory")
    failure: Failure = Field(default="", description="of a wrong answer: the stage that lost it (section 3.3)")
    failure_if_unsure: Failure = Field(default="", description="the same by the probes that allow: don't know")
    write_share: float = Field(default=0.0, description="write failure, corrected for guessed probes")
    read_share: float = Field(default=0.0, description="read failure, so corrected")
    utilization_share: float = Field(default=0.0, description="utilization failure, so corrected")
    calls: int = Field(default=0, description="model calls of the ask")
    input_tokens: int = Field(default=0, description="tokens sent")
    output_tokens: int = Field(default=0, description="tokens received")
    nano_usd: int | None = Field(default=0, description="price in billionths of a dollar; none where it is unknown")


class DialogueStep(Checkpoint):
    """A checkpoint: one period's dialogues, and the assistant's memory after them (base64)."""

    turns: tuple[DialogueTurn, ...]
    snapshot: str


class AnswersStep(Checkpoint):
    """A checkpoint: the answers of one interview, or of one user's baselines.

    `seconds`: model time of each answer to a question, None where it was not measured.
    """

    answers: tuple[AnswerRow, ...] = ()
    seconds: tuple[float | None, ...] = ()


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
