"""The quality report of a finished variant of AMemGym, as a record. The page of the report is drawn from nothing else."""

from typing import Literal

from pydantic import Field

from assets.amemgym.records.user import LeftOut
from assets.records.base import Record
from assets.records.estimate import FEWEST_USERS, LEAST_ROOM, Estimate, percent, percents
from assets.records.report import ColumnLine, GateLine, RuleLine
from assets.reporting.plurals import counted
from assets.text.text_checks import TextKind

# Below its limit; beyond it, which blocks a release; below, though the interval's end is not; without a limit.
ShortcutVerdict = Literal["holds", "crossed", "unproven", "unlimited"]


class Spread(Record):
    """Smallest, mean and greatest value of something counted; `unit` says of what."""

    unit: str
    least: float
    mean: float
    most: float


class ParityLine(Record):
    """One figure beside the paper's Table 4 or App. C.1, as text."""

    what: str
    here: str
    base: str
    extra: str


class WorstItem(Record):
    """A question and what was made of it, with its text. `share` is how often the periods' answer was met or missed."""

    user_id: str
    question_id: str
    query: str
    text: str
    share: float


class ShortcutLine(Record):
    """One shortcut baseline: a way to answer without memory, and how far it gets.

    `accuracy` is over all (question, period) pairs, its interval over users. `random` is what a uniform guess reaches on
    the same pairs, `luck` what it exceeds once in ten thousand sets (a thousand, for shortcuts over form). The limit is
    crossed when the interval, of form the accuracy, lies above `limit` and the accuracy above `luck`; a `limit` of 1 is
    never crossed. `worst`: the questions that give the right
    option away most, with the option that this shortcut takes.
    """

    shortcut: str
    meaning: str
    items: int
    accuracy: Estimate
    random: float
    luck: float
    limit: float
    verdict: ShortcutVerdict
    worst: tuple[WorstItem, ...] = ()

    @property
    def threshold(self) -> float:
        """What the accuracy has to exceed to be beyond the limit: the limit, or what chance reaches in so small a set."""
        return max(self.limit, self.luck)

    @property
    def is_allowed(self) -> bool:
        """True where it is above its limit and does not cross it."""
        return self.verdict not in ("crossed", "unlimited") and (self.accuracy.value or 0.0) > self.limit

    @property
    def verdict_word(self) -> str:
        """The verdict where there is room for a word."""
        words = {"crossed": "beyond", "unlimited": "no limit", "unproven": "unproven", "holds": "below"}
        return "allowed" if self.is_allowed else words[self.verdict]

    @property
    def verdict_words(self) -> str:
        """The verdict, and why a shortcut above its limit does not cross it."""
        low = self.accuracy.low
        above = "above its limit, but"
        if self.verdict in ("crossed", "unlimited"):
            return "beyond its limit" if self.verdict == "crossed" else "no limit"
        if not self.is_allowed:
            return "below its limit" if self.verdict == "holds" else "below; too few users to prove it"
        if low is None:
            return f"{above} fewer than {FEWEST_USERS} users show nothing"
        if low <= self.limit:
            return f"{above} its interval begins below, at {percent(low)}"
        return f"{above} chance alone reaches {percent(self.luck)}"


class DifficultyLine(Record):
    """A figure of how much of a set a memory needs, over (question, period) pairs; `limit` None: it is only told."""

    figure: str
    meaning: str
    users: int
    pairs: int
    value: Estimate
    limit: float | None = None

    @property
    def is_crossed(self) -> bool:
        """True where its whole interval is beyond its limit.

        Values of one life may exclude each other, and then its options are no full table: which lives those are is chance.
        """
        return self.limit is not None and (self.value.low or 0.0) > self.limit


class TextLine(Record):
    """One check of one kind of text: how many of the texts fail it, and how many users have such a text."""

    text: TextKind
    check: str
    truth: str
    blocking: bool
    texts: int
    faulty: int
    users: int
    examples: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        return self.faulty / max(1, self.texts)


class GateErrorRate(Record):
    """The rate at which the gates erred on decoys.

    An empty `kind` stands for whole items, with all their texts; else texts of one kind are counted, each by itself.
    `readings` counts what the decoys took, `errors` the decoys that came out wrong.
    """

    gate: str
    error: Literal["false_accept", "false_reject"]
    kind: str
    decoys: int
    errors: int
    readings: int
    share: Estimate


class JudgeErrorRate(Record):
    """The rate at which first readings of one gate erred on decoys: accepted a wrong label, or refused a right one.

    Later readings are of the texts alone that the first accepted, and would say how often readings err together.
    """

    gate: str
    error: Literal["false_accept", "false_reject"]
    readings: int
    errors: int
    share: Estimate


class RecoveryLine(Record):
    """The rate at which judges recovered items, in one direction. `cannot_tell` is the share that would not say."""

    direction: Literal["state_from_answer", "answer_from_state"]
    items: int
    recovered: Estimate
    cannot_tell: float
    worst: tuple[WorstItem, ...] = ()


# Whether the model that read for the ceiling wrote the set, judged at its gates, or did neither; or the data name no writer.
CeilingReader = Literal["author", "judge", "other", "unknown"]


class CeilingSample(Record):
    """The sample that the ceiling rests on: questions drawn at random of every user, before any was replaced.

    `released` is the ceiling over the users who stayed alone. `readings` counts what the judges read, a text once or more.
    """

    released: Estimate
    questions: int
    readings: int
    users: int
    by: CeilingReader
    models: tuple[str, ...]

    @property
    def reader(self) -> str:
        """The models that read, as a sentence."""
        names = ", ".join(self.models)
        sentences = {
            "author": f"The author judged itself: {names} wrote these texts and read them.",
            "judge": f"It was read by {names}, a judge of the gates.",
            "unknown": f"It was read by {names}. The data do not say who wrote them.",
            "other": f"It was read by {names}, which neither wrote nor judged at the gates.",
        }
        return sentences[self.by]


class LeakLine(Record):
    """The rates at which a judge reads a variable in a query that the query must not tell, or misses one that it must.

    `drafts`: first drafts, as the first reading at the gate found them; `accepted`: finished queries drawn at random and
    read again. `missed`: of these, queries whose own values were not all read.
    """

    drafts: Estimate
    accepted: Estimate
    missed: Estimate
    queries: int


class StateMovement(Record):
    """Measures of how the states move. All shares lie between 0 and 1.

    `choice_shares[t][k]`: the share of variables that hold the k-th of their listed choices at the end of period t.
    `evenness`: entropy of a variable's time over its choices, 1 where each has the same; mean over all variables.
    """

    choice_shares: tuple[tuple[float, ...], ...]
    choices_reached: float
    evenness: float


class SimilarQuestions(Record):
    """Two questions that ask nearly the same; `likeness` is the greater of words' and meaning's, from 0 to 1."""

    first_user: str
    first: str
    second_user: str
    second: str
    likeness: float


class Diversity(Record):
    """Near-duplicate questions. `near_within` and `near_across` are shares of questions that have a near twin.

    `meaning`: the embedding model that compared meanings, or why none did.
    """

    questions: int
    threshold: float
    meaning: str
    near_within: float
    near_across: float
    similar: tuple[SimilarQuestions, ...] = ()


class QualityReport(Record):
    """Counts beside the paper's Table 4 and App. C.1, gates, rules, and who had to be replaced.

    `golden_changes` is the share of (question, period) pairs whose golden answer differs from the period before.
    `writer` and `judges` name models; of a model that is a local file, only its file's name.
    `ceiling` is what an assistant with perfect memory scores, by the judges of the audit; None: no audit was made.
    """

    variant: str = Field(description="the benchmark variant")
    users_wanted: int = Field(description="as many as the recipe says")
    counts: dict[str, int] = Field(description="what the finished set holds")
    lengths: dict[str, Spread] = Field(description="of texts, in tokens")
    turns_per_user: float = Field(description="messages that a user and the assistant exchange")
    golden_changes: float = Field(description="share of periods in which a right option is another than before")
    replaced: dict[str, int] = Field(description="users who could not be finished, by stage and reason")
    replaced_because: dict[str, str] = Field(
        default_factory=dict[str, str], description="the most common message, by stage and reason"
    )
    gates: tuple[GateLine, ...]
    rules: tuple[RuleLine, ...]
    writer: str = Field(default="", description="the model that wrote")
    judges: tuple[str, ...] = Field(default=(), description="the models that judged")
    parity: tuple[ParityLine, ...] = Field(default=(), description="figures beside those of the paper's tables")
    columns: tuple[ColumnLine, ...] = Field(default=(), description="expectations about columns of the released tables")
    gate_errors: tuple[GateErrorRate, ...] = ()
    decoys: str = Field(default="", description="how many decoys there are, and the least that they can show")
    judge_errors: tuple[JudgeErrorRate, ...] = Field(default=(), description="of single readings, on decoys")
    unfit_judges: str = Field(default="", description="why judges give no verdict: they did not tell decoys from right texts")
    leaks: LeakLine | None = Field(default=None, description="what queries tell beside their labels")
    shortcuts: tuple[ShortcutLine, ...] = ()
    difficulty: tuple[DifficultyLine, ...] = Field(default=(), description="how much of the set a memory needs")
    texts: tuple[TextLine, ...] = Field(default=(), description="how many texts fail each check of their words and form")
    recovery: tuple[RecoveryLine, ...] = ()
    ceiling: Estimate | None = Field(default=None, description="what perfect memory scores, by the judges of the audit")
    ceiling_sample: CeilingSample | None = Field(default=None, description="the readings that the ceiling rests on")
    movement: StateMovement | None = None
    diversity: Diversity | None = None
    left_out: tuple[LeftOut, ...] = Field(default=(), description="users and questions of a file that cannot be used")

    @property
    def judged_itself(self) -> str:
        """A sentence where the model that wrote also judges at the gates; else empty."""
        if self.writer not in self.judges:
            return ""
        return f"Writer and judge are one model, {self.writer}: the author judged itself."

    @property
    def no_memory_score(self) -> str:
        """A sentence where perfect memory and a guess score too nearly the same to divide by their difference; else empty."""
        guess: float | None = None
        for line in self.shortcuts:
            if line.shortcut == "random":
                guess = line.random
        best = self.ceiling.value if self.ceiling else None
        if guess is None or best is None or best - guess >= LEAST_ROOM:
            return ""
        return (
            f"There is no memory score on this set: perfect memory scores {percent(best)} and a guess "
            f"{percent(guess)}, which is too near to divide by what is between them."
        )

    @property
    def unread(self) -> str:
        if self.unfit_judges:
            return self.unfit_judges
        if self.gates or self.recovery:
            return ""
        return (
            "No judge read the labels for this report, so whether queries and answers mean what these say is not known: "
            "amemgym quality with --gates and --audit asks."
        )

    @property
    def noun(self) -> str:
        return "user"

    @property
    def users(self) -> int:
        return self.counts["users"]

    @property
    def finished(self) -> int:
        return self.users

    @property
    def wanted(self) -> int:
        return self.users_wanted

    @property
    def crossed(self) -> tuple[ShortcutLine, ...]:
        """The shortcut baselines beyond their limit, which block a release."""
        return tuple(line for line in self.shortcuts if line.verdict == "crossed")

    @property
    def too_easy(self) -> tuple[DifficultyLine, ...]:
        """The figures of difficulty beyond their limit, which block a release."""
        return tuple(line for line in self.difficulty if line.is_crossed)

    @property
    def unproven(self) -> tuple[ShortcutLine, ...]:
        """The shortcut baselines over form that stay below their limit, as far as so few users can show."""
        return tuple(line for line in self.shortcuts if line.verdict == "unproven")

    @property
    def exceeded_limits(self) -> tuple[str, ...]:
        sentences: list[str] = []
        if self.left_out:
            questions = len([item for item in self.left_out if item.question_id])
            users = len(self.left_out) - questions
            sentences.append(f"Left out of the file, since they cannot be used: users {users}, questions {questions}.")
        for line in self.texts:
            if line.blocking and line.faulty:
                found = f"{line.faulty} of {counted(line.texts, line.text)}"
                sentences.append(
                    f"Fit texts {line.truth}; not so {found} of {counted(line.users, 'user')}, such as {line.examples[0]}"
                )
        if self.no_memory_score:
            sentences.append(self.no_memory_score)
        for figure in self.too_easy:
            sentences.append(
                f"{figure.figure!r} ({figure.meaning}) is {percents(figure.value)}; its limit is {percent(figure.limit)}."
            )
        for line in self.crossed:
            accuracy = percents(line.accuracy)
            limit = percent(line.limit)
            sentences.append(f"Without memory, {line.shortcut!r} is right {accuracy} of the time; its limit is {limit}.")
        return tuple(sentences)
