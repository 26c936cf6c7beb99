"""Rules about accepted users: the certificate is of these bytes, and its readers answer as it says."""

from collections.abc import Iterator

from assets.recipe.user_facts import UserFactsRecipe
from assets.user_facts.records import FactUser
from assets.user_facts.users import EVERYTHING, certified_bytes, outcomes_of
from validation.rules import Rule, expect


def certificate_is_of_these_bytes(user: FactUser, _: UserFactsRecipe) -> Iterator[str]:
    digest = certified_bytes(user.sessions, user.questions)
    yield from expect(user.digest == digest, f"the certificate is of {user.digest[:12]}, and the bytes are {digest[:12]}")


def readers_answer_as_certified(user: FactUser, _: UserFactsRecipe) -> Iterator[str]:
    found = outcomes_of(user.sessions, user.questions)
    yield from expect(found == user.outcomes, "readers answer otherwise than it says")
    for outcome in found:
        if outcome.reader == EVERYTHING:
            yield from expect(
                outcome.right == outcome.questions,
                f"a reader of everything has {outcome.right} of {outcome.questions} {outcome.group}",
            )


RULES = (
    Rule("certificate_is_of_these_bytes", "The certificate is of the released bytes.", certificate_is_of_these_bytes),
    Rule("readers_answer_as_certified", "A reader of everything is always right.", readers_answer_as_certified),
)
