"""Where a wrong answer was lost: the paper's stage by the state probes (section 3.3, Figure 3), and one of four failures.

A failure is of the values in which the chosen option differs from the right one, and also looks for the words that told them in
what was recalled. Where a memory rewrites what it hears, they are not to be found, and the probes alone decide.
"""

from collections.abc import Sequence
from itertools import takewhile

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from pipelines.evaluation.amemgym.interview import last_update_period, tellings
from pipelines.evaluation.metrics.evidence import plain_text
from pipelines.evaluation.records import FAILURES, AnswerRow, Failure, Stage


def diagnose(episode: Episode, answers: Sequence[AnswerRow], *, sees_recall: bool = True) -> list[AnswerRow]:
    """Return one user's answers, the wrong ones to questions with failure and stage.

    `sees_recall`: False for a whole agent, which does not show what it recalls.
    """
    questions = {question.question_id: question for question in episode.questions}
    user = UserAnswers(episode, answers, sees_recall=sees_recall)
    found = list[AnswerRow]()
    for answer in answers:
        if answer.kind == "question" and answer.status == "wrong":
            answer = user.diagnose(answer, questions[answer.item])
        found.append(answer)
    return found


def mistaken_values(question: EpisodeQuestion, answer: AnswerRow) -> Sequence[str]:
    """Return the needed variables in which the chosen option differs from the right one; all where that does not show."""
    states = {option.choice_id: option.state for option in question.answer_choices}
    pairs = zip(question.required_info, states.get(answer.given, ()), states.get(answer.expected, ()), strict=False)
    return [name for name, chosen, right in pairs if chosen != right] or question.required_info


class UserAnswers:
    """One user's answers, each with its state probes and with what was recalled."""

    def __init__(self, episode: Episode, answers: Sequence[AnswerRow], *, sees_recall: bool) -> None:
        self.episode = episode
        self.sees_recall = sees_recall
        self._questions = {(row.period, row.item): row for row in answers if row.kind == "question"}
        self._probes = {(row.period, row.item, row.probe): row for row in answers if row.kind == "state"}
        self._recalled = dict[tuple[str, ...], str]()

    def diagnose(self, answer: AnswerRow, question: EpisodeQuestion) -> AnswerRow:
        """Return a wrong answer to this question with stage and failure: of several losses the earliest."""
        stage = self._stage(answer, question.required_info)
        if stage == "undiagnosed":
            return answer.model_copy(update={"stage": stage, "failure": stage})
        names = mistaken_values(question, answer)
        lost: dict[str, Failure] = {name: self._failure(answer, name) for name in names}
        failure = min(lost.values(), key=FAILURES.index)
        misread = [name for name in names if lost[name] == "misread"]
        against_time = failure == "misread" and any(self._is_against_time(answer, name) for name in misread)
        return answer.model_copy(update={"stage": stage, "failure": failure, "against_time": against_time})

    def _stage(self, answer: AnswerRow, names: Sequence[str]) -> Stage:
        """Return the stage that lost a wrong answer.

        utilization: every needed value is known now. Otherwise the values not known now decide by their probes at the period in
        which they were last updated: write, if one was not known even then, else read. undiagnosed: a probe is unscored
        without which nothing is decided, as one write failure decides alone.
        """
        lost = unreadable = False
        for name in names:
            now = self._status(answer, name, answer.period)
            if now == "wrong":
                lost = True
                then = self._status(answer, name, last_update_period(self.episode, name, period=answer.period))
                if then == "wrong":
                    return "write"
                unreadable = unreadable or then == "unscored"
            unreadable = unreadable or now == "unscored"
        if unreadable:
            return "undiagnosed"
        return "read" if lost else "utilization"

    def _failure(self, answer: AnswerRow, name: str) -> Failure:
        """Return how a wrong answer lost a value; not_used: the value came back, where that can be seen, and was known."""
        known = self._status(answer, name, answer.period) != "wrong"
        if self._came_back(answer, name):
            return "not_used" if known else "misread"
        if known and (answer.rewritten or not self.sees_recall):
            return "not_used"
        # A probe recalls for itself, and one of three is right by chance: it does not show what the question got.
        probe = self._probe(answer, name, answer.period)
        written = last_update_period(self.episode, name, period=answer.period)
        recalled_then = (self._probe(answer, name, written), self._questions.get((written, answer.item)))
        was_there = any(self._came_back(row, name) for row in (probe, *recalled_then))
        was_known = known or self._status(answer, name, written) == "right"
        return "not_recalled" if was_there or was_known else "not_written"

    def _is_against_time(self, answer: AnswerRow, name: str) -> bool:
        """Return True where an older value stands below the newer one in what was recalled."""
        recalled = self._text(answer)
        told = tellings(self.episode, name, period=answer.period)
        newest = max(recalled.rfind(words) for words in self._words(answer, name))
        return any(recalled.rfind(plain_text(old.event.text)) > newest for old in told if old.value != told[-1].value)

    def _came_back(self, row: AnswerRow | None, name: str) -> bool:
        """Return True where the words that told the value stand in what was recalled for a question or a probe."""
        if row is None or not self.sees_recall:
            return False
        return any(words in self._text(row) for words in self._words(row, name))

    def _words(self, row: AnswerRow, name: str) -> list[str]:
        """Return the messages that told the value since it holds."""
        told = tellings(self.episode, name, period=row.period)[::-1]
        latest = takewhile(lambda telling: telling.value == told[0].value, told)
        return [plain_text(telling.event.text) for telling in latest]

    def _text(self, row: AnswerRow) -> str:
        # A memory of everything recalls the same for every question.
        if row.memories not in self._recalled:
            self._recalled[row.memories] = "\n".join(map(plain_text, row.memories))
        return self._recalled[row.memories]

    def _probe(self, answer: AnswerRow, name: str, period: int) -> AnswerRow | None:
        """Return the variable's probe that goes with the question."""
        return self._probes.get((period, name, answer.item))

    def _status(self, answer: AnswerRow, name: str, period: int) -> str:
        """Return the probe's status; one that was not asked, of a user who failed early, is unscored."""
        probe = self._probe(answer, name, period)
        return probe.status if probe else "unscored"
