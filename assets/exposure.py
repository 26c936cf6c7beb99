"""The exposure gate: a query is kept when a judge reads the intended values back out of it (section 3.1, App. C.3)."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from assets.asking import Ask, ask
from assets.chance import Chance
from assets.gate import Gate, Trial
from assets.legal import LegalReply, one_of_each
from assets.ports import LanguageModel
from assets.records.base import Text
from assets.records.event import Event
from assets.records.profile import UserProfile
from assets.records.recipe import Recipe
from assets.records.schema import StateSchema
from prompts.catalogue import load_prompt

CANNOT_TELL = "cannot_tell"


class QueryReply(BaseModel):
    """The paper's key, for a refined query."""

    query: Text


@dataclass(frozen=True)
class Draft:
    """A drafted query before its gate."""

    item_id: str
    query: str
    exposed: dict[str, str]
    event: Event | None = None


@dataclass(frozen=True)
class Scene:
    """What every call of one user's queries needs."""

    profile: UserProfile
    schema: StateSchema
    recipe: Recipe
    model: LanguageModel

    def common(self) -> dict[str, object]:
        """Variables that the drafting prompts share."""
        return {
            "user_profile": self.profile.formatted_str,
            "start_date": self.recipe.start_date.isoformat(),
            "language": self.recipe.language_name,
        }


Redraft = Callable[[Draft, int], Awaitable[str]]


def exposure_gate(scene: Scene, draft: Draft, redraft: Redraft) -> Gate:
    """The gate of one drafted query; `redraft` writes a new one, by number."""
    choices = {name: scene.schema.choices[name] for name in draft.exposed}

    async def judge(text: str, trial: Trial) -> dict[str, str]:
        return await read_exposure(scene, text, choices, trial=(draft.item_id, trial))

    async def refine(text: str, reading: dict[str, str], trial: Trial) -> str:
        prompt = load_prompt("session_queries/refine").render(
            query=text,
            exposed_states=draft.exposed,
            state_choices=choices,
            reading={name: value or "could not tell" for name, value in reading.items()},
            language=scene.recipe.language_name,
        )
        return await ask(scene.model, Ask(prompt, QueryReply, lambda reply: reply.query, trial.number), recipe=scene.recipe)

    return Gate(
        name="exposure",
        item_id=draft.item_id,
        target=draft.exposed,
        judge=judge,
        refine=refine,
        redraft=lambda number: redraft(draft, number),
    )


async def read_exposure(
    scene: Scene, text: str, choices: Mapping[str, list[str]], *, trial: tuple[str, Trial]
) -> dict[str, str]:
    """What a judge reads out of the text for these variables, "" where it cannot tell; options shuffled per trial."""
    item_id, number = trial
    chance = Chance(scene.recipe.seed, scene.profile.user_id, "exposure", item_id, number.number)
    label = _label_beside([choice for values in choices.values() for choice in values])
    extra = [label] if scene.recipe.gates.cannot_tell else []
    options = {name: [*chance.shuffled(choices[name]), *extra] for name in choices}
    prompt = load_prompt("session_queries/check_exposure").render(
        query=text, state_choices=options, cannot_tell=label if extra else ""
    )

    def read(reply: LegalReply) -> dict[str, str]:
        given = reply.given()
        return {name: "" if given[name] in extra else given[name] for name in options}

    return await ask(scene.model, Ask(prompt, one_of_each(options), read, number.number), recipe=scene.recipe)


def _label_beside(choices: Collection[str]) -> str:
    """The answer "cannot tell" in words that are no choice themselves."""
    label = CANNOT_TELL
    while label in choices:
        label += "_"
    return label
