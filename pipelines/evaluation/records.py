"""The records of a run on any benchmark: turns of dialogues, answers, what it was made from."""

import json
from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from assets.recipe.extra_body import ExtraBody, extra_body_field
from assets.records.base import Record
from assets.records.public_names import shared_model
from pipelines.evaluation.spending import Checkpoint
from pipelines.memories.contract import MAX_REPLY_TOKENS, MemorySpec, RecallQuery, Wording

AskKind = Literal[
    "question",
    "at_budget",
    "state",
    "upper_bound",
    "options_only",
    "no_memory",
    "moment",
    "facts",
    "everything",
    "permuted",
    "placebo",
    "stale",
    "another",
    "noise",
]
OF_MEMORY: tuple[AskKind, ...] = ("question", "at_budget")  # questions that were answered from the memory
# In an episode: once, before each action, again before a call that writes, or where the agent asks by a tool.
RecallAt = Literal["start", "step", "write", "tool"]
Arm = Literal["placebo", "stale", "another", "noise"]  # what stands in the memory's place, as a control
Status = Literal["right", "wrong", "unknown", "unscored"]
Failure = Literal["", "write", "read", "utilization", "undiagnosed"]
Mode = Literal["on-policy", "off-policy", "documents"]
Probes = Literal["question", "none"]
FORMAT: Literal[5] = 5  # of a run's folder
CALL_FAILED = "call_failed"  # how the reason of an answer begins whose call the endpoint did not serve


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
    """One scored item: a question, a variable of a state probe, or a baseline's question.

    Calls, tokens and money are of the whole ask, which the rows of one state probe share. Rows of one `user_id` are resampled
    together.
    """

    user_id: str = Field(description="the persona's uuid, or the id of a task over documents")
    period: int = Field(description="period, or turn of documents, after which it was asked, from 0")
    kind: AskKind = Field(description="a question, a state probe, or a baseline's question")
    item: str = Field(description="question id or variable")
    expected: str = Field(description="the choice id or value that is right")
    given: str = Field(description="the choice id or value chosen; empty when nothing could be read")
    status: Status = Field(description="right, wrong, unknown (said so) or unscored (unreadable)")
    reason: str = Field(description="why it is unscored; else empty")
    reply: str = Field(description="the assistant's last words")
    tries: int = Field(description="number of times it was asked")
    options: int = Field(description="how many could be chosen; 0 where the answer is free")
    shown: int = Field(description="place of the right option, from 1")
    required: int = Field(description="state variables, or facts of documents, that the answer depends on")
    age: int = Field(description="periods since the oldest value needed was told")
    asked: str = Field(default="", description="what was asked, word for word")
    probe: str = Field(default="", description="of a state probe: the question whose variables were asked together")
    budget: int = Field(default=0, description="tokens that the memory was given; 0 where none was asked")
    memories: tuple[str, ...] = Field(
        default=(), description="what the memory gave back, cut to the budget; of facts: what stood in its place"
    )
    written: int = Field(default=0, description="events that had been written to the memory")
    written_tokens: int = Field(default=0, description="tokens of these, where they are documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    fact_recall: float = Field(default=0.0, description="share of a document task's needed values in what was recalled")
    evidence: int = Field(default=0, description="messages or documents that state the needed values")
    evidence_recalled: int = Field(default=0, description="of these, how many stand word for word in what was recalled")
    recalled_events: int = Field(
        default=0, description="all messages or documents of which the recalled texts hold a part word for word"
    )
    rewritten: int = Field(default=0, description="recalled texts that hold no part of a message or document word for word")
    about: str = Field(default="", description="of a fact: the kind of question")
    outcome: str = Field(default="", description="of a fact: right, stale, invented, leaked, not_known, or empty: unreadable")
    moment: str = Field(default="", description="of a deleted fact: when it was asked; empty at the end of the life")
    changes: int = Field(default=0, description="of a fact: how often it changed after it was told")
    leaks: int = Field(default=0, description="of a deleted fact: recalled texts that hold its value")
    known: bool | None = Field(default=None, description="of a question: whether all its state probes were right")
    failure: Failure = Field(default="", description="of a wrong answer: the stage that lost it (section 3.3)")
    calls: int = Field(default=0, description="model calls of the ask")
    input_tokens: int = Field(default=0, description="tokens sent")
    output_tokens: int = Field(default=0, description="tokens received")
    nano_usd: int | None = Field(default=0, description="price in billionths of a dollar; none where it is unknown")

    @property
    def question_key(self) -> tuple[str, int, int, str]:
        """The user or task, length, period and item: the same for one question in all conditions."""
        return self.user_id, self.length, self.period, self.item


class DialogueStep(Checkpoint):
    """A checkpoint: one period's dialogues. A memory that is taken up again is written from them."""

    turns: tuple[DialogueTurn, ...]


class AnswersStep(Checkpoint):
    """A checkpoint: the answers of one interview, or of one user's baselines.

    `seconds`: model time of each answer to a question, None where it was not measured.
    """

    answers: tuple[AnswerRow, ...] = ()
    seconds: tuple[float | None, ...] = ()


class ErrorRow(Record):
    """An item that could not be evaluated to the end, and why, in one sentence; the traceback is in the folder."""

    item_id: str
    sentence: str


def _is_usual_room(tokens: int) -> bool:
    return tokens == MAX_REPLY_TOKENS


class RunManifest(Record):
    """All that decides a run's results; its digest names the run.

    `users`: ids of those who are resampled together, which `noun` names. `memory_version`: the packages that bring the memory;
    `memory_source`: a digest of its code; `boundary`: what keeps that code in, "" for code of ours. `places`: what served the
    models; none for the embedded model, whose name says what it is. `conditions`: those beside the memory's own, for isolated
    scores. `curve`: further budgets at which the questions are asked.
    """

    format: Literal[5] = FORMAT
    run_id: str
    benchmark: str
    noun: str
    dataset: str
    dataset_digest: str
    users: tuple[str, ...]
    language: str
    memory: MemorySpec
    memory_version: str
    memory_source: str
    boundary: str
    tokens: int
    curve: tuple[int, ...]
    conditions: tuple[str, ...]
    models: dict[str, str]
    places: tuple[str, ...]
    mode: Mode
    seed: int
    attempt: int
    prompts: dict[str, str]
    generator: str
    # Of dialogues; runs on documents have them as they stand here.
    rounds_initial: int = 0
    rounds_update: int = 0
    replayed_run: str = ""
    probes: Probes = "question"
    baselines: bool = False
    wording: Wording = "own"
    # Of memories of others: seconds that writes take until they can be recalled.
    settle: float = Field(default=0.0, exclude_if=lambda seconds: not seconds)
    recall_query: RecallQuery = "question-and-options"
    # By role; runs without any have the manifest, and the id, from before there were such fields.
    extra_body: dict[str, ExtraBody] = extra_body_field()
    # Controls in the memory's place, likewise.
    arms: tuple[Arm, ...] = Field(default=(), exclude_if=lambda arms: not arms)
    # Of tool dialogues: when the memory is asked, likewise.
    recall_at: RecallAt = Field(default="start", exclude_if=lambda place: place == "start")
    # Of dialogues with a user whom a model plays: tokens of an episode that stay in sight, likewise.
    window: int = Field(default=0, exclude_if=lambda tokens: not tokens)
    # Where an agent acts: by tool calls of the model's own API, likewise.
    native_tools: bool = Field(default=False, exclude_if=lambda native: not native)
    # Tokens that a reply may have, likewise.
    reply_tokens: int = Field(default=MAX_REPLY_TOKENS, exclude_if=_is_usual_room)

    def model_of(self, role: str) -> str:
        """Return the role's model, with the fields that are added to its requests."""
        added = self.extra_body.get(role)
        return f"{self.models[role]} with {json.dumps(added)}" if added else self.models[role]

    def shared(self) -> Self:
        """The manifest as files hold it: of a model that is a local file, only the file's name."""
        return self.model_copy(update={"models": {role: shared_model(name) for role, name in self.models.items()}})

    @property
    def asks(self) -> str:
        """The places that models are asked at, for a reader."""
        addresses = dict.fromkeys(place.partition(" ")[0] for place in self.places)
        return " and ".join(addresses) or "the embedded model in this process"
