"""Matters of users: what a program refuses of a draft, what judges read, and that other lists make other lives."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from assets.user_facts.matters import DRAFT, draft_matters, draft_problems, links_of, voted_text, wanted_of
from assets.user_facts.records import FactMatter
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.user_facts import facts_recipe, made_facts, person_at


def drafted() -> list[FactMatter]:
    return list(made_facts().matters.matters)


def plain() -> FactMatter:
    return next(
        one for one in drafted() if not (one.follows or one.like or one.coarse) and one.label not in str(links_of(drafted()))
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"label": "room 12"}, "without digits and signs"),
        ({"value": "the clinic"}, "has to be letters and spaces with {name} once"),
        ({"value": "{name} {name.__class__}"}, "has to be letters and spaces with {name} once"),
        ({"follows": "moon"}, "names 'moon', which is no label of the list"),
        ({"follows": "SELF"}, "follows from itself; there must be no circle"),
        ({"coarse": "some {name}"}, "coarse is 2, and 1 is wanted"),
    ],
)
def test_a_draft_that_makes_no_life_is_refused_with_a_sentence(fields: dict[str, str], told: str) -> None:
    changed = plain()
    given = {name: value.replace("SELF", changed.label) for name, value in fields.items()}
    matters = [one.model_copy(update=given) if one == changed else one for one in drafted()]
    assert told in " ".join(draft_problems(matters, facts_recipe()))


def test_each_user_has_as_many_matters_as_the_recipe_takes() -> None:
    wanted = wanted_of(facts_recipe())
    assert len(drafted()) == wanted["matters"] == len(made_facts().life.labels)
    assert len([one for one in drafted() if one.follows]) == wanted["follows"]
    assert {one.label for one in drafted()} != {one.label for one in made_facts(1).matters.matters}


class FirstDraftIsWrong:
    """Drafts a list with a link that no judge reads, and a sound one when it is told so."""

    def __init__(self, wrong: Sequence[FactMatter]) -> None:
        self.wrong = wrong
        self.asked: list[str] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await EmbeddedModel().complete(request)
        if request.labels.prompt == DRAFT:
            self.asked.append(request.messages[-1].content)
            return replace(reply, text=voted_text(self.wrong)) if len(self.asked) == 1 else reply
        return reply


def test_a_link_that_no_judge_reads_is_drafted_anew_with_what_was_read() -> None:
    last = [one for one in drafted() if one.follows][-1]
    wrong = [one.model_copy(update={"follows": plain().label}) if one == last else one for one in drafted()]
    model = FirstDraftIsWrong(wrong)
    made = run(draft_matters(person_at(0, facts_recipe()), recipe=facts_recipe(), model=model))
    assert json.loads(voted_text(wrong))["matters"][0]["label"] in model.asked[1]
    assert "<readings>" in model.asked[1]
    assert links_of(made.matters) != links_of(wrong)
    assert [vote.accepted for vote in made.gate_records][-2:] == [True, True]
