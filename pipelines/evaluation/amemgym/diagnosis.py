"""The stage that lost a wrong answer: written badly, read badly, or known and not used (section 3.3, Figure 3)."""

from collections.abc import Sequence

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.amemgym.interview import last_update_period
from pipelines.evaluation.records import AnswerRow, Failure


class StateProbes:
    """One user's state probes: by period, variable and question."""

    def __init__(self, answers: Sequence[AnswerRow]) -> None:
        self._rows = {(row.period, row.item, row.probe): row for row in answers if row.kind == "state"}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def status(self, question: str, name: str, period: int) -> str:
        """Return the status of the variable's probe that goes with the question."""
        return self._rows[period, name, question].status


def diagnose(episode: Episode, answers: Sequence[AnswerRow]) -> list[AnswerRow]:
    """Return one user's answers, the wrong ones to questions with their failures by the state probes.

    All questions say whether all needed values were known, for the table of probes and answers.
    """
    probes = StateProbes(answers)
    # An agent that failed early was asked no state.
    if not probes:
        return list(answers)
    needed = {question.question_id: question.required_info for question in episode.questions}
    found = list[AnswerRow]()
    for answer in answers:
        if answer.kind == "question":
            names = needed[answer.item]
            known = all(probes.status(answer.item, name, answer.period) == "right" for name in names)
            failure = failure_of(episode, answer, names, probes) if answer.status == "wrong" else ""
            answer = answer.model_copy(update={"known": known, "failure": failure})
        found.append(answer)
    return found


def failure_of(episode: Episode, answer: AnswerRow, names: Sequence[str], probes: StateProbes) -> Failure:
    """Return the stage that lost a wrong answer which needs these variables.

    utilization: every needed value is known now. Otherwise the values not known now decide by their probes at the
    period in which they were last updated: write, if one was not known even then, else read. undiagnosed: a probe is
    unscored without which nothing is decided, as one write failure decides alone.
    """
    lost = unreadable = False
    for name in names:
        now = probes.status(answer.item, name, answer.period)
        if now == "wrong":
            lost = True
            written = last_update_period(episode, name, period=answer.period)
            then = probes.status(answer.item, name, written)
            if then == "wrong":
                return "write"
            unreadable = unreadable or then == "unscored"
        unreadable = unreadable or now == "unscored"
    if unreadable:
        return "undiagnosed"
    return "read" if lost else "utilization"
