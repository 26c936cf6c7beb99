"""The exposure gate: a query is kept when a judge reads the intended values back out of it (section 3.1, App. C.3)."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from assets.amemgym.records.event import Event
from assets.amemgym.records.profile import UserProfile
from assets.amemgym.records.schema import StateSchema
from assets.amemgym.session_queries.style import Voice
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, Trial
from assets.llm.ports import LanguageModel
from assets.llm.reply_schema import ReplySchema, object_of_enums
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from assets.records.base import Text
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

    def voice(self) -> Voice:
        """Who listens to the replies of one call."""
        return Voice(self.profile.name, self.schema.choices, patience=self.recipe.gates.max_reasks)


Redraft = Callable[[Draft, int], Awaitable[str]]


def exposure_gate(scene: Scene, draft: Draft, redraft: Redraft) -> Gate:
    """The gate of one drafted query; `redraft` writes a new one, by number.

    Beside the values to be exposed, a judge is asked in the same breath for some other variables, which must stay open.
    """
    choices = scene.schema.choices
    others = unexposed(scene, draft)
    asked = {name: choices[name] for name in (*draft.exposed, *others)}

    async def judge(text: str, trial: Trial) -> dict[str, str]:
        return await read_exposure(scene, text, asked, trial=(draft.item_id, trial))

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        leaked = {name: reading[name] for name in others if reading[name]}
        prompt = load_prompt("session_queries/refine").render(
            query=text,
            exposed_states=draft.exposed,
            state_choices={name: choices[name] for name in draft.exposed},
            reading={name: reading[name] or "could not tell" for name in draft.exposed},
            leaked=leaked,
            language=scene.recipe.language_name,
        )
        voice = scene.voice()

        def convert(reply: QueryReply) -> str:
            voice.check([reply.query])
            return reply.query

        return await ask_structured(
            scene.model, prompt=prompt, reply=QueryReply, convert=convert, sample=sample, recipe=scene.recipe
        )

    target = {**draft.exposed, **dict.fromkeys(others, "")}
    return Gate("exposure", target, judge, refine, lambda number: redraft(draft, number))


def unexposed(scene: Scene, draft: Draft) -> list[str]:
    """Seeded variables of the schema that the query is probed for and must not tell, as many as the recipe says."""
    others = [name for name in scene.schema.choices if name not in draft.exposed]
    rng = SeededRandom(scene.recipe.seed, scene.profile.user_id, "unexposed", draft.item_id)
    return rng.sample(others, scene.recipe.gates.unexposed)


async def read_exposure(
    scene: Scene, text: str, choices: Mapping[str, list[str]], *, trial: tuple[str, Trial]
) -> dict[str, str]:
    """What a judge reads out of the text for these variables, "" where it cannot tell; variables and options shuffled."""
    item_id, number = trial
    rng = SeededRandom(scene.recipe.seed, scene.profile.user_id, "exposure", item_id, number.number)
    label = _label_beside([choice for values in choices.values() for choice in values])
    extra = [label] if scene.recipe.gates.cannot_tell else []
    options = {name: [*rng.shuffled(choices[name]), *extra] for name in rng.shuffled(list(choices))}
    prompt = load_prompt("session_queries/check_exposure").render(
        query=text, state_choices=options, cannot_tell=label if extra else ""
    )

    def convert(reply: dict[str, str]) -> dict[str, str]:
        return {name: "" if reply[name] in extra else reply[name] for name in choices}

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(options))
    return await ask_structured(
        scene.model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=number.number,
        model_name=number.judge,
        recipe=scene.recipe,
    )


def _label_beside(choices: Collection[str]) -> str:
    """The answer "cannot tell" in words that are no choice themselves."""
    label = CANNOT_TELL
    while label in choices:
        label += "_"
    return label
