"""`python -m pipelines.docs_site.idea RELEASE`: the picture of the idea, a life line with a question.

RELEASE is a folder of `demo` as the embedded model makes it. The life is that of the first user with a question whose right
answer changes twice, each time because one variable does.
"""

import argparse
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from assets.amemgym.records.episode import Episode, EpisodeQuestion
from dataset_card.amemgym.reference.data_json import read_data_json
from dataset_card.amemgym.statements import data_json_path

PICTURE = Path(__file__).parents[1] / "guide" / "pictures" / "idea.svg"
ALT = "One user's life in three moments: what they say, the state it shows, and the answer that is right then."
# Letters for which the picture has room.
MOST_SAID = 88
MOST_ANSWERED = 58
SHOWN = 3


@dataclass(frozen=True)
class Moment:
    """A session: the words of the user, the state that they show, and the answer that is right from then on.

    `changed` is the place of the new value in `state`; None at the start.
    """

    date: str
    says: str
    state: tuple[str, ...]
    changed: int | None
    answer: str


@dataclass(frozen=True)
class Story:
    """A question, and the moments from which on its right answer is another."""

    question: str
    moments: Sequence[Moment]


def story_of(episodes: Sequence[Episode]) -> Story:
    """Return the first story of three moments. Raises ValueError where no user has one."""
    for episode in episodes:
        for question in episode.questions:
            moments = _moments(episode, question)
            if len(moments) >= SHOWN and all(moment.says for moment in moments[:SHOWN]):
                return Story(question.query, moments[:SHOWN])
    raise ValueError("No question of these users has a right answer that changes twice, by one variable each time.")


def _moments(episode: Episode, question: EpisodeQuestion) -> list[Moment]:
    """Return the start and each change; none from a period on in which two of the question's variables change."""
    answers = {choice.choice_id: choice.answer for choice in question.answer_choices}
    names = question.required_info
    found: list[Moment] = []
    for number, golden in enumerate(question.golden):
        period = episode.periods[number]
        new = {update.variable for update in period.updates} & set(names)
        if len(new) > 1:
            break
        if number and (not new or golden == question.golden[number - 1]):
            continue
        date = ""
        says = ""
        for session in period.sessions:
            if not (new or set(names)).isdisjoint(session.exposed_states):
                date = f"{session.session_time:%B %Y}"
                says = _statement(session.query)
                break
        moment = Moment(
            date=date,
            says=says,
            state=tuple(period.state[name].replace("_", " ") for name in names),
            changed=names.index(new.pop()) if new else None,
            answer=textwrap.shorten(answers[golden], MOST_ANSWERED, placeholder=" ..."),
        )
        found.append(moment)
    return found


def _statement(query: str) -> str:
    """Return the first sentence of a message that asks nothing, and the next ones as far as there is room."""
    said = ""
    for sentence in re.split(r"(?<=[.?]) ", query):
        if sentence.endswith("?"):
            continue
        if said and len(said) + len(sentence) >= MOST_SAID:
            break
        said = f"{said} {sentence}".strip()
    return textwrap.shorten(said, MOST_SAID, placeholder=" ...")


WIDTH = 860
HEIGHT = 422
COLUMN = 270
MARGIN = 25
WRAP = 31
STYLE = """
text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2933 }
.ground { fill: #fff } .head { font-weight: 600 } .faint { fill: #5c6773; font-size: 12.5px }
.box { fill: #f3f6f9; stroke: #c9d3dd } .asked { fill: #fff6e0; stroke: #e0b84c } .right { fill: #e8f5ec; stroke: #7fb991 }
.line { stroke: #0b5394; stroke-width: 3 } .dot { fill: #0b5394 } .new { font-weight: 600; fill: #b45309 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #14181d } text { fill: #e4e8ec } .faint { fill: #a3adb8 }
  .box { fill: #1d2733; stroke: #3d4a58 } .asked { fill: #3a3018; stroke: #8f7530 }
  .right { fill: #17301f; stroke: #3f7a54 } .line { stroke: #6fa8dc } .dot { fill: #6fa8dc } .new { fill: #f6b26b }
}
"""


def picture(story: Story) -> str:
    """Return the story as SVG, readable on light and on dark pages."""
    parts = [*_life_line(), *_question(story.question)]
    for number, moment in enumerate(story.moments):
        parts += _moment(moment, number)
    drawn = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{ALT}">\n<style>{STYLE}</style>\n{drawn}\n</svg>\n'
    )


def _life_line() -> Iterator[str]:
    # A ground of its own, because a page may be light where the system is dark.
    yield _box(0, 0, WIDTH, HEIGHT, kind="ground")
    yield f'<line class="line" x1="{MARGIN}" y1="132" x2="{WIDTH - MARGIN}" y2="132"/>'
    yield _text(MARGIN, 24, "What the user says, months apart", kind="faint")


def _question(question: str) -> Iterator[str]:
    yield _text(MARGIN, 252, "Asked after every one of these moments", kind="faint")
    yield _box(MARGIN, 262, WIDTH - 2 * MARGIN, 40, kind="asked")
    yield _text(WIDTH / 2, 287, question, kind="head", middle=True)
    yield _text(MARGIN, 332, "The right answer among those offered", kind="faint")


def _moment(moment: Moment, number: int) -> Iterator[str]:
    left = MARGIN + number * COLUMN
    centre = left + COLUMN / 2
    yield _box(left + 4, 34, COLUMN - 8, 74)
    yield from _lines(centre, 58, f"“{moment.says}”")
    yield f'<circle class="dot" cx="{centre}" cy="132" r="7"/>'
    yield _text(centre, 162, moment.date, kind="head", middle=True)
    for row, value in enumerate(moment.state):
        kind = "new" if row == moment.changed else ""
        yield _text(centre, 188 + 22 * row, value, kind=kind, middle=True)
    yield _box(left + 4, 342, COLUMN - 8, 66, kind="right")
    yield from _lines(centre, 370, moment.answer)


def _lines(centre: float, top: float, words: str) -> Iterator[str]:
    for row, line in enumerate(textwrap.wrap(words, WRAP)):
        yield _text(centre, top + 19 * row, line, middle=True)


def _box(left: float, top: float, width: float, height: float, *, kind: str = "box") -> str:
    return f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>'


def _text(left: float, base: float, words: str, *, kind: str = "", middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{left}" y="{base}"{anchor}>{escape(words)}</text>'


def episodes_of(release: Path) -> list[Episode]:
    """Return the users of a release of `demo`."""
    return read_data_json(release / data_json_path("demo"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    PICTURE.write_text(picture(story_of(episodes_of(parser.parse_args().release))), encoding="utf-8")
