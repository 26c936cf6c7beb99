"""One wrong answer in a few lines for a terminal: what was needed, what came back and in which order, what was chosen."""

from collections.abc import Iterator

from assets.amemgym.records.episode import Episode
from assets.reporting.plurals import counted
from pipelines.evaluation.amemgym.interview import tellings
from pipelines.evaluation.metrics.evidence import plain_text
from pipelines.evaluation.records import AnswerRow

WIDTH = 78
LINES = 14
SAID = {
    "not_written": "not written: neither recalled nor known, not even when just told",
    "not_recalled": "not recalled: known, or recalled elsewhere, but not recalled here",
    "misread": "misread: it came back, but was not known",
    "not_used": "not used: it was known, and came back as far as can be seen",
    "undiagnosed": "unknown: a state probe could not be read",
    "": "unknown: no states were probed",
}


def show_failure(episode: Episode, row: AnswerRow) -> list[str]:
    """Return a few lines on a wrong answer to one of the user's questions."""
    question = next(question for question in episode.questions if question.question_id == row.item)
    options = {option.choice_id: option for option in question.answer_choices}
    lines = [f"asked     {episode.user_profile.name}, end of period {row.period}: {question.query}"]
    values = list[tuple[int, str]]()
    text = plain_text("\n".join(row.memories))
    for name in question.required_info:
        told = tellings(episode, name, period=row.period)
        words = name.replace("_", " ")
        lines.append(f"needed    {words}: {episode.periods[row.period].state[name]}")
        for telling in told:
            place = text.find(plain_text(telling.event.text))
            if place >= 0:
                mark = "> " if telling.value == told[-1].value else "  "
                values.append((place, f"{mark}{telling.event.at:%Y-%m-%d}  {words}: {telling.value}"))
    # Two lines are around these, and four follow.
    lines += _recalled_lines(row, [value for _, value in sorted(values)], room=max(1, LINES - len(lines) - 6))
    for what, choice in (("chosen", row.given), ("right", row.expected)):
        option = options[choice]
        lines.append(f"{what:9} {', '.join(option.state)}: {option.answer}")
    lines.append(f"failure   {SAID[row.failure]}")
    if row.against_time:
        lines.append("          An older value stands below the newer one: keep the order of time.")
    return [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines]


def _recalled_lines(row: AnswerRow, values: list[str], *, room: int) -> Iterator[str]:
    """Yield what came back, in order, so many lines between two: values of needed variables; texts where none tells any."""
    order = ", with these values from above to below (> needed):" if values else ""
    yield f"recalled  {counted(len(row.memories), 'text')}{order}"
    shown = values or [" ".join(text.split()) for text in row.memories]
    for line in shown[:room]:
        yield f"          {line}"
    if len(shown) > room:
        yield f"          and {len(shown) - room:,} more"
