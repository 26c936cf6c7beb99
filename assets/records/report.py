"""The quality report of a finished variant, as a record. The page of the report is drawn from nothing else."""

from typing import Literal

from pydantic import Field

from assets.amemgym.audits.rates import GateErrorRate
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.records.expectation import ColumnLine
from assets.records.variety import CoverageLine, Diversity

Verdict = Literal["holds", "crossed", "told"]


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


class RuleLine(Record):
    """One rule over the finished set; `examples` are its first violations, each with its user."""

    stage: str
    rule: str
    truth: str
    blocking: bool
    users: int
    violations: int
    examples: tuple[str, ...] = ()


class GateLine(Record):
    """One gate over the finished set: how many items passed at once, after refining, after a new draft."""

    gate: str
    items: int
    readings: int
    passed_at_once: int
    passed_after_refining: int
    passed_after_redrafting: int


class WorstItem(Record):
    """A question and what was made of it, with its text. `share` is how often the periods' answer was met or missed."""

    user_id: str
    question_id: str
    query: str
    text: str
    share: float


class WallLine(Record):
    """One way to answer without memory. `accuracy` is over all (question, period) pairs, its interval over users.

    `random` is what a uniform guess reaches on the same pairs, `luck` what it passes once in ten thousand sets. A line is
    crossed when the interval lies above `limit` and the accuracy above `luck`. A `limit` of 1 is never crossed.
    `worst`: the questions that give themselves away most, with the option that the cue takes.
    """

    cue: str
    meaning: str
    items: int
    accuracy: Estimate
    random: float
    luck: float
    limit: float
    verdict: Verdict
    worst: tuple[WorstItem, ...] = ()


class RecoveryLine(Record):
    """How often judges recovered what was meant, in one direction. `cannot_tell` is the share that would not say."""

    direction: Literal["state_from_answer", "answer_from_state"]
    items: int
    recovered: Estimate
    cannot_tell: float
    worst: tuple[WorstItem, ...] = ()


class Motion(Record):
    """How the states move. All shares lie between 0 and 1.

    `choice_shares[t][k]`: the share of variables that hold the k-th of their listed choices at the end of period t.
    `evenness`: entropy of a variable's time over its choices, 1 where each has the same; mean over all variables.
    `changes`: by number of changes, how many variables. `returns`: updates back to a value left in the period before.
    """

    choice_shares: tuple[tuple[float, ...], ...]
    choices_reached: float
    evenness: float
    changes: dict[str, int]
    returns: float
    golden_changes: tuple[float, ...]


class PlaceLine(Record):
    """The options shown at one place: how often they are right, and mean lengths in characters, of right ones and others."""

    place: int
    options: int
    right: float
    right_length: float | None
    other_length: float | None


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
    gates: tuple[GateLine, ...]
    rules: tuple[RuleLine, ...]
    writer: str = Field(default="", description="the model that wrote")
    judges: tuple[str, ...] = Field(default=(), description="the models that judged")
    parity: tuple[ParityLine, ...] = Field(default=(), description="figures beside those of the paper's tables")
    columns: tuple[ColumnLine, ...] = Field(default=(), description="promises about the columns of the released tables")
    gate_errors: tuple[GateErrorRate, ...] = ()
    calls_per_item: dict[str, float] = Field(
        default_factory=dict[str, float], description="readings and rewritings per accepted item, by gate"
    )
    wall: tuple[WallLine, ...] = ()
    recovery: tuple[RecoveryLine, ...] = ()
    ceiling: Estimate | None = Field(default=None, description="what perfect memory scores, by the judges of the audit")
    motion: Motion | None = None
    places: tuple[PlaceLine, ...] = ()
    diversity: Diversity | None = None
    coverage: tuple[CoverageLine, ...] = ()

    @property
    def users(self) -> int:
        """Users finished."""
        return self.counts["users"]

    @property
    def crossed(self) -> tuple[WallLine, ...]:
        """The lines of the guessability wall that block a release."""
        return tuple(line for line in self.wall if line.verdict == "crossed")
