"""The parts and the results of an evolution: policies, facts, and answers with the condition they came about under."""

from typing import Literal

from assets.records.base import Record
from pipelines.evaluation.records import AnswerRow, DialogueTurn, RunManifest
from pipelines.evaluation.spending import Checkpoint

Feedback = Literal["none", "question-only", "complete"]
Protocol = Literal["paper", "held-out"]
Split = Literal["seen", "new_questions", "new_users"]
PolicyOutcome = Literal["improved", "unchanged", "kept"]
Verdict = Literal["yes", "no", "unscored"]
EVERYBODY = "all"  # the learner of a policy that all users share


class Condition(Record):
    """One condition: what the feedback tells, and whom it is about.

    `paper`: every user's policy evolves on its own, from all questions, and is scored on the same ones. `held-out`: one
    policy for all users, from some users' questions; the others are only scored.
    """

    feedback: Feedback
    protocol: Protocol

    @property
    def name(self) -> str:
        """The arm's name in keys and tables."""
        return self.feedback if self.feedback == "none" else f"{self.feedback}-{self.protocol}"


class EvolutionManifest(Record):
    """All that decides an evolution's results; its digest names the evolution, and `run.run_id` is the same name.

    `cycles`: one for each period of the longest episode; a policy is improved after each but the last. `held_out_questions`: by
    user who is not held out. `feedback_questions`: how many questions the feedback of one cycle tells at most.
    """

    format: Literal[1] = 1
    run: RunManifest
    initial_policy: str
    improver: str
    feedbacks: tuple[Feedback, ...]
    protocols: tuple[Protocol, ...]
    cycles: int
    held_out_users: tuple[str, ...]
    held_out_questions: dict[str, tuple[str, ...]]
    feedback_questions: int
    most_characters: int

    @property
    def arms(self) -> tuple[Condition, ...]:
        """The conditions; without feedback both protocols are the same one."""
        arms: dict[str, Condition] = {}
        for feedback in self.feedbacks:
            for protocol in self.protocols:
                arm = Condition(feedback=feedback, protocol=protocol)
                arms[arm.name] = arm
        return tuple(arms.values())


class PolicyStep(Record):
    """The outcome of a policy after one cycle. `learner`: the user whose policy it is, or all.

    `before` was in force during the cycle and `after` is during the next one. kept: no reply could be used, and `problem`
    says why. `prompt` and `replies` are all messages sent and all replies, word for word; `feedback` is JSON (App. C.7).
    """

    arm: str
    learner: str
    cycle: int
    before: str
    after: str
    outcome: PolicyOutcome
    problem: str
    changes: tuple[str, ...]
    diff: tuple[str, ...]
    feedback: str
    prompt: tuple[str, ...]
    replies: tuple[str, ...]


class RecalledFact(Record):
    """A value that a period's sessions exposed, and whether the memory at its end supports it (App. E)."""

    arm: str
    cycle: int
    user_id: str
    period: int
    variable: str
    value: str
    supported: Verdict


class CycleAnswer(AnswerRow):
    """An answer with its condition and cycle; baselines have the arm "" and the cycle -1."""

    arm: str
    cycle: int


class CycleTurn(DialogueTurn):
    """A turn with its condition and cycle."""

    arm: str
    cycle: int


class Improved(Checkpoint):
    """A checkpoint: a policy step, and what it took."""

    step: PolicyStep


class Recalled(Checkpoint):
    """A checkpoint: the facts of one user's period, and what checking them took."""

    facts: tuple[RecalledFact, ...] = ()
