"""Rules about planned lives: nothing follows from itself, or speaks of a fact after it was to be forgotten."""

from collections.abc import Iterator

from assets.recipe.user_facts import UserFactsRecipe
from assets.user_facts.records import FactLife
from validation.rules import Rule, expect


def rules_make_no_circle(life: FactLife, _: UserFactsRecipe) -> Iterator[str]:
    decides: dict[str, str] = {}
    for session in life.sessions:
        decides.update(
            {statement.matter: statement.other_matter for statement in session.statements if statement.shape == "rule"}
        )
    for matter in decides:
        seen = [matter]
        while seen[-1] in decides and decides[seen[-1]] not in seen:
            seen.append(decides[seen[-1]])
        yield from expect(seen[-1] not in decides, f"{matter} follows from itself, by {' and '.join(seen)}")


def forgotten_is_not_spoken_of(life: FactLife, _: UserFactsRecipe) -> Iterator[str]:
    forgotten: set[str] = set()
    for number, session in enumerate(life.sessions):
        for statement in session.statements:
            named = {statement.matter, statement.other_matter} - {""}
            if statement.shape not in ("forget", "refed", "other") and named & forgotten:
                yield f"session {number} speaks of {statement.label}, which was to be forgotten"
            yield from expect(
                statement.shape != "refed" or statement.matter in forgotten,
                f"session {number} tells {statement.label} again too early",
            )
        forgotten.update(statement.matter for statement in session.statements if statement.shape == "forget")


def sessions_are_in_order(life: FactLife, recipe: UserFactsRecipe) -> Iterator[str]:
    times = [session.at for session in life.sessions]
    yield from expect(times == sorted(set(times)), "the sessions are not in order of time")
    yield from expect(len(times) == recipe.num_sessions, f"there are {len(times)} sessions")
    own = [statement.label for statement in life.sessions[-1].statements if statement.shape != "other"]
    yield from expect(not own, f"the last session speaks of {own}")


RULES = (
    Rule("rules_make_no_circle", "No fact follows from itself.", rules_make_no_circle),
    Rule(
        "forgotten_is_not_spoken_of",
        "After a request to forget a fact, only a mail from somebody else mentions it.",
        forgotten_is_not_spoken_of,
    ),
    Rule("sessions_are_in_order", "Sessions are in order, and the last one has no fact of the user.", sessions_are_in_order),
)
