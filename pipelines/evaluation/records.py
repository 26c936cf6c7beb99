"""The records of a run on any benchmark: turns of dialogues, answers, what it was made from."""

import json
from datetime import datetime
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, ValidationInfo, field_validator

from assets.recipe.extra_body import ExtraBody
from assets.records.base import Record
from assets.records.paths import FileName
from assets.records.public_names import shared_model
from pipelines.embedded.bank import MODEL_FAMILY
from pipelines.evaluation.spending import Checkpoint
from pipelines.memories.contract import MAX_REPLY_TOKENS, MemoryEvent, MemorySpec, RecallQuery, Wording

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
# Asked once for a release and a reasoner, in a run of their own: they are the same for every memory.
OF_BASELINES: tuple[AskKind, ...] = ("upper_bound", "options_only")
BESIDE_MEMORY = ("none", "facts", "everything")  # names of the conditions that are asked beside the memory's own
OF_CONDITIONS: tuple[AskKind, ...] = ("no_memory", "facts", "everything")
ITSELF = "itself"  # where a run says which run asked its conditions, and is that run
# In an episode: as usual there (""), once, before each action, again before a call that writes, or by a tool of the agent.
RecallAt = Literal["", "start", "step", "write", "tool"]
Arm = Literal["placebo", "stale", "another", "noise"]  # what stands in the memory's place, as a control
Status = Literal["right", "wrong", "unknown", "unscored"]
# Where a wrong answer was lost: by what was recalled for it and the state probes, and by these alone (section 3.3).
Failure = Literal["", "not_written", "not_recalled", "misread", "not_used", "undiagnosed"]
Stage = Literal["", "write", "read", "utilization", "undiagnosed"]
FAILURES: tuple[Failure, ...] = get_args(Failure)[1:-1]  # the earliest loss first
Mode = Literal["dialogue", "document", "fact", "episode"]  # what an item is
AnswerCount = Annotated[int, Field(ge=0, le=10**9)]  # more than any run asks
Probes = Literal["period", "question", "none"]
FORMAT: Literal[6] = 6  # of a run's folder
CALL_FAILED = "call_failed"  # how the reason of an answer begins whose call the endpoint did not serve


class DialogueTurn(Record):
    """A user's message and the assistant's reply. Round 0 opens the session with its query.

    `tries`: how often the simulator was asked. `breaches`: what the message that was sent still gives away about the schema.
    """

    user_id: str
    period: int = Field(ge=0)
    session: int
    round: int
    at: datetime
    message: str
    reply: str
    tries: int = 1
    breaches: tuple[str, ...] = ()


class AnswerRow(Record):
    """One scored item: a question, a variable of a state probe, or a baseline's question.

    Calls, tokens and money are of the whole ask, which the rows of one state probe share. Rows of one `user_id` count
    as one for intervals.
    """

    user_id: str = Field(description="the persona's uuid, or the id of a task over documents")
    period: int = Field(ge=0, description="period, or turn of documents, after which it was asked, from 0")
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
    written: int = Field(
        default=0, description="events that had been written to the memory; 0 in dialogues where none was asked"
    )
    written_tokens: int = Field(default=0, description="tokens of these, where they are documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    fact_recall: float | None = Field(
        default=None, description="share of the needed values that the recalled text spells; none where nothing spells them"
    )
    evidence: int = Field(default=0, description="messages or documents that state the needed values")
    evidence_recalled: int = Field(default=0, description="of these, how many stand word for word in what was recalled")
    recalled_events: int = Field(
        default=0, description="all messages or documents of which the recalled texts hold a part word for word"
    )
    rewritten: int = Field(default=0, description="recalled texts that hold no part of a message or document word for word")
    told: int = Field(default=0, description="different messages or documents among all that had been written")
    about: str = Field(default="", description="of a fact: the kind of question")
    outcome: str = Field(default="", description="of a fact: right, stale, invented, leaked, not_known, or empty: unreadable")
    moment: str = Field(default="", description="when a deleted fact was asked, empty at the end; or: a day before a change")
    changes: int = Field(default=0, description="of a fact: how often it changed after it was told")
    leaks: int = Field(default=0, description="of a deleted fact: recalled texts that hold its value")
    failure: Failure = Field(default="", description="of a wrong answer: how a needed value was lost")
    stage: Stage = Field(default="", description="of a wrong answer: the stage that lost it, by the probes alone (section 3.3)")
    against_time: bool = Field(
        default=False, description="of a misread answer: an older value stood below the newer one in what was recalled"
    )
    calls: int = Field(default=0, description="model calls of the ask")
    input_tokens: int = Field(default=0, description="tokens sent")
    output_tokens: int = Field(default=0, description="tokens received")
    nano_usd: int | None = Field(default=0, description="price in billionths of a dollar; none where it is unknown")

    @property
    def question_key(self) -> tuple[str, int, int, str]:
        """The user or task, length, period and item: the same for one question in all conditions."""
        return self.user_id, self.length, self.period, self.item


class EventRow(Record):
    """Something that was perceived; the rows of one cluster and length are in order of time."""

    cluster: str = Field(description="whose episode it is, such as the user's id, or of which task over documents")
    length: int = Field(default=0, description="length that was wanted of all documents, in tokens; 0 where there is none")
    text: str = Field(description="the words")
    kind: str = Field(description="user, assistant, document or tool")
    at: str = Field(description="time in the episode; empty where it has none")
    source: str = Field(description="what names it, such as a title")


class DialogueStep(Checkpoint):
    """A checkpoint: one period's dialogues. A memory that is taken up again is written from them."""

    turns: tuple[DialogueTurn, ...]


class AnswersStep(Checkpoint):
    """A checkpoint: the answers of what was asked at one time, or of an episode.

    `seconds`: model time of each answer to a question, None where it was not measured. `heard`: batches of events that the
    memory was written in the episode; `left`: events of the episode that it was not.
    """

    answers: tuple[AnswerRow, ...] = ()
    seconds: tuple[float | None, ...] = ()
    heard: tuple[tuple[MemoryEvent, ...], ...] = ()
    left: tuple[MemoryEvent, ...] = ()


class ErrorRow(Record):
    """An item that could not be evaluated to the end, and why, in one sentence; the traceback is in the folder."""

    item_id: str
    sentence: str


class RunSettings(Record):
    """The options that decide a run's results: an evaluation is given them, and its manifest holds what became of them.

    The command line, the file of a run and the manifest all take their fields from here; descriptions are the help's.
    """

    tokens: int = Field(
        default=0,  # until a benchmark says its own
        ge=1,
        description="Most tokens that a memory may return; by default 100,000 in dialogues, 6,000 with documents.",
    )
    reply_tokens: int = Field(default=MAX_REPLY_TOKENS, description="Most tokens of a reply, including a model's reasoning.")
    curve: tuple[int, ...] = Field(default=(), description="Further token budgets at which all questions are asked too.")
    conditions: tuple[str, ...] = Field(
        default=BESIDE_MEMORY,
        description="Conditions of isolated scores in addition to the memory itself, separated by commas; '' for none.",
    )
    arms: tuple[Arm, ...] = Field(
        default=(),
        description="Controls of gain and harm: ask also with chance, stale, foreign and buried texts (placebo, stale, another "
        "and noise; or all).",
    )
    more_models: tuple[str, ...] = Field(
        default=(), description="Further models that the memory may ask; the board names them beside the memory."
    )
    seed: int = Field(default=42, ge=0, lt=2**63, description="Seed of the order of options, and of all calls.")
    attempt: int = Field(default=0, ge=0, description="Number of the repetition.")
    questions: int | None = Field(
        default=None,
        ge=1,
        description="Number of AMemGym's questions, balanced over users, periods and questions; by default all.",
    )
    probes: Probes = Field(
        default="period",
        description="How states are probed: all of a user's in one call each period, for each question (as in the reference "
        "code), or none.",
    )
    baselines: bool = Field(default=True, description="Ask the paper's baselines too.")
    wording: Wording = Field(
        default="own",
        description="Form of the questions: own, or the paper's, with its order of options and its prompt for notes.",
    )
    recall_query: RecallQuery = Field(
        default="question-and-options",
        description="The text of a memory's query in dialogues; the reasoner always sees the options.",
    )
    later_holds: bool = Field(
        default=False, description="Tell the model that of two recalled entries that disagree the later one holds."
    )
    recall_at: RecallAt = Field(
        default="",
        description="When an acting agent asks its memory: start (once), step (before each action), write (also before a call "
        "that changes something) or tool (when the agent calls it). By default tool; on tau2, swe and webarena step.",
    )
    native_tools: bool = Field(
        default=False, description="An acting agent uses tool calls of the model's API, not replies in JSON."
    )
    window: int = Field(
        default=0,
        ge=0,
        description="Tokens of an episode that stay in the agent's window; by default 2,000 on tau2, 8,000 on swe and "
        "webarena.",
    )
    settle: float = Field(
        default=0.0, description="Seconds until a memory's writes can be recalled; a canary checks that they can."
    )
    extra_body: dict[str, ExtraBody] = Field(
        default_factory=dict[str, ExtraBody],
        description="Further fields of requests by role (assistant, memory, embedding, user, judge), or under all to each chat "
        "model.",
    )

    @field_validator("conditions", "curve", "arms", "more_models", mode="before")
    @classmethod
    def _split(cls, value: object, info: ValidationInfo) -> object:
        """Take one value, or several that are separated by commas, as a list of them; for arms also all of them."""
        if info.field_name == "arms" and value in (True, "all"):
            return get_args(Arm)
        if isinstance(value, str):
            return [word.strip() for word in value.split(",") if word.strip()]
        return [value] if isinstance(value, int) else value


class RunManifest(RunSettings):
    """All that decides a run's results; its digest names the run.

    `users`: ids of those whom intervals are over, which `noun` names. `memory_version`: the packages that bring the memory, and
    the digest of its environment's; `memory_source`: a digest of its code; `memory_files`: what that is of, where it is in a
    file; `boundary`: what keeps that code in, "" for code of ours. `places`: what served the models; none for the embedded
    model, whose name says what it is. `alone`: the id of the run that asked the conditions without the memory and the
    baselines, `ITSELF` in that run, "" where there are none. Of its settings, `tokens` and `window` are those of the benchmark
    where none were given, and `extra_body` has no `all`.
    """

    format: Literal[6] = FORMAT
    run_id: FileName
    benchmark: FileName
    noun: str
    dataset: str
    dataset_digest: str
    users: tuple[str, ...] = Field(min_length=1)
    language: str
    memory: MemorySpec
    memory_version: str
    memory_source: str
    memory_files: tuple[str, ...]
    boundary: str
    models: dict[str, str]
    places: tuple[str, ...]
    mode: Mode
    prompts: dict[str, str]
    generator: str
    # Of dialogues; runs on documents have them as they stand here.
    rounds_initial: int = 0
    rounds_update: int = 0
    replayed_run: str = ""
    alone: str = ""

    @field_validator("conditions")
    @classmethod
    def _expect_known_conditions(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in BESIDE_MEMORY:
                raise ValueError(f"there is no condition {name!r}")
        return names

    @property
    def variant(self) -> str:
        """The variant of the release that the run is on; of other data its name."""
        return self.dataset.partition(" ")[0]

    @property
    def version(self) -> str:
        """The version of the release; "" of other data."""
        return self.dataset.partition(" ")[2]

    def model_of(self, role: str) -> str:
        """Return the role's model, with the fields that are added to its requests."""
        added = self.extra_body.get(role)
        return f"{self.models[role]} with {json.dumps(added)}" if added else self.models[role]

    @property
    def is_alone(self) -> bool:
        """Return True for a run that asks without a memory what is the same for every memory."""
        return self.alone == ITSELF

    def shares(self, row: AnswerRow) -> bool:
        """Return True where the run has the row from the one that it shares with others."""
        return bool(self.alone) and not self.is_alone and row.kind in (*OF_CONDITIONS, *OF_BASELINES)

    @property
    def is_off_policy(self) -> bool:
        """Return True where the dialogues are another run's."""
        return self.mode == "dialogue" and bool(self.replayed_run)

    @property
    def policy(self) -> str:
        """On-policy or off-policy; of other items than dialogues, what they are."""
        if self.mode != "dialogue":
            return self.mode
        return "off-policy" if self.replayed_run else "on-policy"

    @property
    def is_probed(self) -> bool:
        """Return True where states are probed; `none` has none that it could know."""
        return self.probes != "none" and self.memory.kind != "none"

    def shared(self) -> Self:
        """The manifest as files hold it: of a model that is a local file, only the file's name."""
        return self.model_copy(update={"models": {role: shared_model(name) for role, name in self.models.items()}})

    @property
    def asks(self) -> str:
        """The places that models are asked at, for a reader."""
        addresses = dict.fromkeys(place.partition(" ")[0] for place in self.places)
        if not addresses and not all(name.startswith(MODEL_FAMILY) for name in (*self.models.values(), *self.more_models)):
            return "an endpoint that is not set yet"
        return " and ".join(addresses) or "the embedded model in this process"
