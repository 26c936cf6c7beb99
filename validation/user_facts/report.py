"""The quality report of user facts: readers by kind of question, and guesses that read nothing."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assets.engine.benchmark import Benchmark
from assets.engine.ports import RunContext
from assets.recipe.loading import expect_recipe
from assets.recipe.recipe import Recipe
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.estimate import with_interval
from assets.reporting.cheap_readers import CheapReaders, History
from assets.reporting.statistic import UserShare
from assets.user_facts.records import FactChoice, FactQuestion, FactUser
from assets.user_facts.report import ReaderLine, UserFactsReport
from validation.report import page
from validation.report.builder import MinimalReportBuilder, SharedLines
from validation.report.validation import CheckOutcome, ReportCheck, ReportSpec, values_by_name
from validation.rules import RecordsOfItem

ALL_KINDS = "all"


def _most_shared(question: FactQuestion) -> FactChoice:
    """Return the choice whose words stand in most others: a wrong answer is often a right one that was changed."""
    words = {option.choice_id: set(option.text.split()) for option in question.choices}

    def shared(choice: FactChoice) -> int:
        return sum(len(words[choice.choice_id] & words[option.choice_id]) for option in question.choices if option != choice)

    return max(question.choices, key=shared)


GUESSES: Mapping[str, Callable[[FactQuestion], FactChoice]] = {
    "not known": lambda question: next(choice for choice in question.choices if not choice.value),
    "the first choice": lambda question: question.choices[0],
    "the last choice": lambda question: question.choices[-1],
    "the longest choice": lambda question: max(question.choices, key=lambda option: len(option.text)),
    "the shortest choice": lambda question: min(question.choices, key=lambda option: len(option.text)),
    "the choice with most shared words": _most_shared,
}


class UserFactsReportBuilder(MinimalReportBuilder):
    """Measures readers and guesses, beside what every report has."""

    def __init__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> None:
        super().__init__(recipe, items=items, benchmark=benchmark)
        self._recipe = expect_recipe(recipe, UserFactsRecipe)
        self._readers: defaultdict[tuple[str, str], UserShare] = defaultdict(UserShare)
        self._guesses: defaultdict[str, UserShare] = defaultdict(UserShare)
        self._cheap_readers = CheapReaders()

    def add(self, records: RecordsOfItem) -> None:
        super().add(records)
        user = records[self._benchmark.final.name]
        if isinstance(user, FactUser):
            self._measure(user)

    def _measure(self, user: FactUser) -> None:
        totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for outcome in user.outcomes:
            self._readers[outcome.reader, outcome.group].add(outcome.right, outcome.questions)
            totals[outcome.reader][0] += outcome.right
            totals[outcome.reader][1] += outcome.questions
        for reader, (right, questions) in totals.items():
            self._readers[reader, ALL_KINDS].add(right, questions)
        for name, guess in GUESSES.items():
            right = sum(guess(question).outcome == "right" for question in user.questions)
            self._guesses[name].add(right, len(user.questions))
        self._cheap_readers.add(list(_read_cheaply(user)))

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> UserFactsReport:
        minimal = await super().report(shared, run_context=run_context, problems=problems)
        readers: list[ReaderLine] = []
        for (reader, group), share in self._readers.items():
            readers.append(ReaderLine(reader=reader, group=group, questions=share.items, right=share.estimate()))
        return UserFactsReport(
            **minimal.model_dump(exclude={"cheap_readers", "max_found_cheaply"}),
            cheap_readers=self._cheap_readers.lines(),
            max_found_cheaply=self._recipe.max_found_cheaply,
            readers=tuple(readers),
            guesses={name: share.estimate() for name, share in self._guesses.items()},
            max_not_known=self._recipe.max_not_known,
        )


def _read_cheaply(user: FactUser) -> Iterator[Mapping[str, Sequence[str]]]:
    """Yield what cheap readers find of each question that needs a session."""
    texts = [text for session in user.sessions for text in session.texts]
    places = {text: place for place, text in enumerate(texts)}
    history = History(texts)
    by_label = {matter.label: matter for matter in user.matters}
    for question in user.questions:
        label = next(matter.label for matter in user.matters if matter.name == question.matter)
        labels = [label]
        while by_label[labels[-1]].follows:
            labels.append(by_label[labels[-1]].follows)
        needed: defaultdict[int, list[str]] = defaultdict(list)
        for number in question.needed:
            session = user.sessions[number]
            for statement in session.statements:
                if statement.shape != "other" and statement.label in labels:
                    needed[places[session.text_of(statement)]] += [statement.label, *statement.spoken_values]
        if needed:
            yield history.readers_that_find(needed, question=question.text, names=(label,))


def render_facts_page(report: UserFactsReport) -> str:
    """Return the page; a function of the report alone."""
    return page.render_template(report, template="page_of_facts.html.j2", folder=Path(__file__).parent, shown=with_interval)


def facts_metadata(report: UserFactsReport) -> dict[str, Any]:
    """Return numbers that Dagster plots over time."""
    metadata: dict[str, Any] = {"rules_broken": page.broken_rules(report)}
    for name, share in report.guesses.items():
        if share.value is not None:
            metadata[f"right_by_{name.replace(' ', '_')}"] = share.value
    return metadata


def guesses_outcome(report: UserFactsReport) -> CheckOutcome:
    """Pass when no guess that reads nothing is right more often than the recipe allows."""
    measured = "; ".join(f"{name} {with_interval(share)}" for name, share in report.guesses.items())
    sentence = " ".join(report.exceeded_limits) or f"Right by guessing: {measured}."
    return CheckOutcome(not report.exceeded_limits, sentence, values_by_name(report.guesses))


USER_FACTS_REPORT = ReportSpec(
    builder=UserFactsReportBuilder,
    render=render_facts_page,
    metadata=facts_metadata,
    checks=(
        ReportCheck(
            "guesses_do_not_pay",
            "No way to guess is right more often than the recipe allows, always saying that it is not known among them.",
            guesses_outcome,
        ),
    ),
    description="How good the finished set is: answers, by kind of question, of readers who see all sessions or "
    "none, or believe the latest or the first mention; guesses, rules, what was replaced. A release needs it to pass.",
    sources=(UserFactsReportBuilder.add,),
)
