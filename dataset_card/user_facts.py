"""The parts of releases of user facts beside items and tables."""

from rich.console import Console
from rich.panel import Panel

from assets.reporting.plurals import counted
from assets.reporting.text_table import print_table
from assets.text.calendar_words import MONTHS
from assets.user_facts.pipeline import USER_FACTS
from assets.user_facts.records import FactUser
from dataset_card.release.content import ReleaseFormat
from dataset_card.reported import ReportedExtras
from validation.user_facts.report import render_facts_page

BRIEF = 3  # sessions and questions shown in a brief story
ABOUT = (
    "Facts that end, for testing memory. A user tells facts and corrects them: they are replaced, withdrawn, narrowed, "
    "merged, or as before; some end on a day, some follow from others by a rule, some are to be forgotten. Questions ask for "
    "the value now, on a day or over time, for what follows, for what was never said, with a false premise, for deleted facts."
)


class UserFactsExtras(ReportedExtras):
    """The card and the quality report of facts that end."""

    template = "facts_card.md.j2"
    render_report = staticmethod(render_facts_page)


USER_FACTS_RELEASE = ReleaseFormat(
    USER_FACTS,
    extras=UserFactsExtras,
    about=ABOUT,
    reported=True,
    card_description="The README of the release: computed facts in a written template, under the header that the Hub reads. It "
    "tells what readers of the sessions answer by kind of question, and what was replaced and why.",
)


def print_user(console: Console, user: FactUser, *, brief: bool = False) -> None:
    """Print a user's sessions, and the questions with their right answers; `brief` prints only the beginning."""
    console.print(Panel(counted(len(user.questions), "question"), title=f"[bold]{user.name}[/bold]", title_align="left"))
    for session in user.sessions[: BRIEF if brief else None]:
        texts = " / ".join(filter(None, (session.message, session.request, session.mail)))
        console.print(f"  {MONTHS[session.at.month - 1][:3]} {session.at:%d, %H:%M}  {texts}", highlight=False, markup=False)
    rows: list[tuple[str, ...]] = []
    for question in user.questions[: BRIEF if brief else None]:
        rows.append((question.kind.replace("_", " "), question.text, question.right.text))
    print_table(console, ("kind", "question", "right"), rows, title="questions")
