"""The parts of releases of user facts beside items and tables."""

from collections.abc import Mapping

from assets.user_facts.pipeline import USER_FACTS
from dataset_card.release.content import ReleaseFormat
from dataset_card.reported import ReportedExtras
from validation.user_facts.report import render_facts_page

ABOUT = (
    "Facts that end, for testing memory. A user tells facts and corrects them: they are replaced, withdrawn, narrowed, "
    "merged, or as before; some end on a day, some follow from others by a rule, some are to be forgotten. Questions ask for "
    "the value now, on a day or over time, for what follows, for what was never said, with a false premise, for deleted facts."
)
FACT_METRICS: Mapping[str, str] = {
    "questions of a user": "SELECT (SELECT count(*) FROM {questions}) / (SELECT count(*) FROM {users})",
    "statements of a user": "SELECT (SELECT count(*) FROM {statements}) / (SELECT count(*) FROM {users})",
    "characters of a message": "SELECT sum(length(message)) / count(*) FROM {sessions}",
    "share of right choices that say not known": "SELECT count(*) FILTER (outcome = 'right' AND text LIKE '%not known%') / "
    "count(*) FILTER (outcome = 'right') FROM {choices}",
}
FACT_FIGURES: Mapping[str, str] = {
    "readers.right": "right by {reader}, questions of the kind {group}",
    "guesses": "right by guessing {key}",
}


class UserFactsExtras(ReportedExtras):
    """The card and the quality report of facts that end."""

    about = ABOUT
    template = "facts_card.md.j2"
    render_report = staticmethod(render_facts_page)


USER_FACTS_RELEASE = ReleaseFormat(
    USER_FACTS,
    extras=UserFactsExtras,
    metrics=FACT_METRICS,
    figures=FACT_FIGURES,
    reported=True,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. It "
    "tells what readers of the sessions answer by kind of question, and what was replaced and why.",
)
