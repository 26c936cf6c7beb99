"""Stage 4: from the questions, canonical state variables, merged and free of conflicts (section 3.1; App. C.3)."""

import itertools
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.amemgym import stage_summaries
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet, RequiredInfo
from assets.amemgym.records.state import JudgedSchema, SchemaQuestion, StateVariable
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import Stage
from assets.llm.gate import Gate, GateAttempt, ReadingTask, VoteContext, first_vote_number, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import NAME, TEXT, ReplySchema, ask_structured, list_of, object_of, object_of_enums
from assets.llm.text import alike, folded
from assets.records.base import duplicates
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt

Denied = Mapping[str, Mapping[str, str]]  # by variable: choices, each with why


@dataclass(frozen=True)
class Original:
    """A drafted info type under a key that is unique within the user."""

    key: str
    question_id: str
    info: RequiredInfo


async def refine_schema(
    profile: UserProfile, questions: QuestionSet, *, recipe: AMemGymRecipe, model: LanguageModel
) -> JudgedSchema:
    """Name and merge the info types, unify the choices of merged ones, rewrite the questions onto the variables.

    Then judges look for choices that the profile denies, which get others in their place, and for states that exclude each
    other.
    """
    originals = originals_of(questions)
    merged = await _merge(profile, questions, recipe=recipe, model=model)
    conflicts = {name: keys for name, keys in merged.items() if len({originals[key].info.info_choices for key in keys}) > 1}
    unified: dict[str, tuple[str, ...]] = {}
    if conflicts:
        unified = await _unify(profile, _conflicts_shown(questions, conflicts), recipe=recipe, model=model)
    variables = tuple(
        StateVariable(name=name, choices=unified.get(name) or originals[keys[0]].info.info_choices, merged_from=tuple(keys))
        for name, keys in merged.items()
    )
    schema = JudgedSchema(user_id=profile.user_id, variables=variables, questions=_rewritten(questions, merged))
    return await pass_judges(profile, schema, recipe=recipe, model=model) if recipe.gates.consistency else schema


def originals_of(questions: QuestionSet) -> dict[str, Original]:
    """All drafted types by unique key: a type that several questions use gets the question's id as suffix."""
    types = [info.info_type for question in questions.questions for info in question.required_info]
    repeated = set(duplicates(types))
    originals: dict[str, Original] = {}
    for question in questions.questions:
        for info in question.required_info:
            key = info.info_type
            if key in repeated:
                key = f"{key}_{question.question_id}"
                while key in types:
                    key += "_"
            originals[key] = Original(key, question.question_id, info)
    return originals


async def _merge(
    profile: UserProfile, questions: QuestionSet, *, recipe: AMemGymRecipe, model: LanguageModel
) -> dict[str, list[str]]:
    originals = originals_of(questions)
    prompt = load_prompt("state_schema/refine").render(
        user_profile=profile.formatted_str, questions=_shown(questions, originals), language=recipe.language_name
    )

    tries = itertools.count()

    def convert(reply: dict[str, str]) -> dict[str, list[str]]:
        last = next(tries) >= recipe.gates.max_reasks
        merged: dict[str, list[str]] = {}
        for key, name in (_mended(reply, originals) if last else reply).items():
            merged.setdefault(name, []).append(key)
        _check_names(merged, originals)
        _check_room(len(merged), recipe)
        return merged

    # Types to names, not the other way round as in the paper: every type is then named once, and a reply has an end.
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(originals, NAME)))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, recipe=recipe)


def _shown(questions: QuestionSet, originals: Mapping[str, Original]) -> list[dict[str, object]]:
    return [
        {
            "question": question.text,
            "required_info": {
                key: list(original.info.info_choices)
                for key, original in originals.items()
                if original.question_id == question.question_id
            },
        }
        for question in questions.questions
    ]


def _check_names(merged: Mapping[str, list[str]], originals: Mapping[str, Original]) -> None:
    for name, keys in merged.items():
        if duplicates([originals[key].question_id for key in keys]):
            raise ValueError(f"{keys} all became {name!r}, but two of them belong to the same question; keep those apart.")
        for key in keys:
            if _is_choice(name, originals[key]):
                raise ValueError(f"{name!r} is a choice of {key!r}; give the type a name that covers all its choices.")


def _is_choice(name: str, original: Original) -> bool:
    """Whether the name is one of the choices, however its words are joined: no query could tell that value from the others."""
    return folded(name) in map(folded, original.info.info_choices)


def _mended(reply: Mapping[str, str], originals: Mapping[str, Original]) -> dict[str, str]:
    """The reply with the drafted name wherever the new one will not do: a plain name is no reason to lose a user."""
    names: dict[str, str] = {}
    taken = set[tuple[str, str]]()
    for key, original in originals.items():
        unfit = _is_choice(reply[key], original) or (original.question_id, reply[key]) in taken
        names[key] = key if unfit else reply[key]
        taken.add((original.question_id, names[key]))
    return names


def _check_room(variables: int, recipe: AMemGymRecipe) -> None:
    per_variable = min(recipe.max_changes_per_state, recipe.num_periods)
    if variables * per_variable < recipe.fewest_changes * recipe.num_periods:
        needed = -(-recipe.fewest_changes * recipe.num_periods // per_variable)
        raise ValueError(f"{variables} variables are too few for the changes to come; keep at least {needed} apart.")


async def _unify(
    profile: UserProfile,
    conflicts: Mapping[str, Sequence[Mapping[str, object]]],
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
    denied: Denied | None = None,
    sample: int = 0,
) -> dict[str, tuple[str, ...]]:
    """One set of choices for each variable. `conflicts`: its questions with choices that they have now."""
    refused = denied or {}
    prompt = load_prompt("state_schema/unify").render(
        user_profile=profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        conflicts=conflicts,
        denied=refused,
        num_choices_per_state=recipe.num_choices_per_state,
        num_total_months=recipe.num_total_months,
        language=recipe.language_name,
    )

    def convert(reply: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
        choices = {name: tuple(values) for name, values in reply.items()}
        for name, values in choices.items():
            if repeated := list(alike(values)):
                raise ValueError(f"The choices of {name!r} must differ; these read the same: {repeated}.")
            if kept := sorted({*map(folded, values)} & {*map(folded, refused.get(name, ()))}):
                raise ValueError(f"The profile denies {kept} of {name!r}; put choices in their place that it allows.")
        return choices

    values = list_of(NAME, min_items=recipe.num_choices_per_state, max_items=recipe.num_choices_per_state)
    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(object_of(dict.fromkeys(conflicts, values)))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, recipe=recipe)


def _conflicts_shown(questions: QuestionSet, conflicts: Mapping[str, list[str]]) -> dict[str, list[dict[str, object]]]:
    originals = originals_of(questions)
    texts = {question.question_id: question.text for question in questions.questions}
    return {
        name: [
            {"question": texts[originals[key].question_id], "info_choices": list(originals[key].info.info_choices)}
            for key in keys
        ]
        for name, keys in conflicts.items()
    }


@dataclass(frozen=True)
class SchemaFindings:
    """What a judge found: choices that the profile denies, and values of two variables that exclude each other."""

    denied: Denied
    exclusive: list[dict[str, str]]


async def pass_judges(
    profile: UserProfile, schema: JudgedSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> JudgedSchema:
    """Let the choices pass their gate, whose text is their JSON; what excludes each other is what any vote on them found."""
    found: defaultdict[str, list[SchemaFindings]] = defaultdict(list)
    drafted = json.dumps(schema.choices)

    async def read(tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        (task,) = tasks
        findings = await _find_impossible(profile, json.loads(task.text), vote=task.vote, recipe=recipe, model=model)
        found[task.text].append(findings)
        return [{name: "; ".join(f"{choice}: {why}" for choice, why in own.items()) for name, own in findings.denied.items()}]

    async def refine(text: str, _: dict[str, str], sample: int) -> str:
        denied = next(one.denied for one in reversed(found[text]) if one.denied)
        choices: dict[str, list[str]] = json.loads(text)
        conflicts = {
            name: [
                {"question": question.text, "info_choices": choices[name]}
                for question in schema.questions
                if name in question.required_info
            ]
            for name in denied
        }
        unified = await _unify(profile, conflicts, recipe=recipe, model=model, denied=denied, sample=sample)
        return json.dumps({**choices, **unified})

    gate = Gate("schema", {}, None, refine, lambda draft: refine(drafted, {}, first_vote_number(draft, 0)))
    attempt = GateAttempt("schema", drafted)
    await pass_gates([[(gate, attempt)]], read, size=1, recipe=recipe)
    choices: dict[str, list[str]] = json.loads(attempt.text)
    return JudgedSchema(
        user_id=schema.user_id,
        variables=tuple(one.model_copy(update={"choices": tuple(choices[one.name])}) for one in schema.variables),
        questions=schema.questions,
        exclusive=tuple(
            {json.dumps(pair, sort_keys=True): pair for one in found[attempt.text] for pair in one.exclusive}.values()
        ),
        gate_records=tuple(attempt.records),
    )


async def _find_impossible(
    profile: UserProfile,
    choices: Mapping[str, Sequence[str]],
    *,
    vote: VoteContext,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> SchemaFindings:
    rng = SeededRandom(recipe.seed, profile.user_id, "schema", vote.number)
    shown = {name: rng.shuffled(choices[name]) for name in rng.shuffled(list(choices))}
    prompt = load_prompt("state_schema/check").render(user_profile=profile.formatted_str, state_schema=shown)

    def convert(reply: dict[str, list[Any]]) -> SchemaFindings:
        denied: dict[str, dict[str, str]] = {}
        for one in reply["denied"]:
            for name, choice in one["state"].items():
                denied.setdefault(name, {})[choice] = one["because"]
        # A pair of one variable, or of three, says nothing that could be kept to.
        return SchemaFindings(denied, [pair for pair in reply["exclusive"] if len(pair) == 2])

    state = object_of_enums(choices, required=False)
    finding = object_of({"state": state, "because": TEXT})
    reply_schema: ReplySchema[dict[str, list[Any]]] = ReplySchema(
        object_of({"denied": list_of(finding, min_items=0), "exclusive": list_of(state, min_items=0)})
    )
    return await ask_structured(
        model,
        prompt=prompt,
        reply=reply_schema,
        convert=convert,
        sample=vote.number,
        model_name=vote.judge,
        recipe=recipe,
    )


def _rewritten(questions: QuestionSet, merged: Mapping[str, list[str]]) -> tuple[SchemaQuestion, ...]:
    variable_of = {key: name for name, keys in merged.items() for key in keys}
    wanted: dict[str, list[str]] = {question.question_id: [] for question in questions.questions}
    for key, original in originals_of(questions).items():
        wanted[original.question_id].append(variable_of[key])
    return tuple(
        SchemaQuestion(question_id=question.question_id, text=question.text, required_info=tuple(wanted[question.question_id]))
        for question in questions.questions
    )


def _rows(schema: JudgedSchema) -> list[Row]:
    return [{"variable": v.name, "choices": v.choices, "merged from": v.merged_from} for v in schema.variables]


STATE_SCHEMA = Stage(
    name="state_schema",
    record=JudgedSchema,
    make=refine_schema,
    needs=(USER_PROFILES, QUESTIONS),
    prompts=("state_schema/refine", "state_schema/unify", "state_schema/check"),
    version=2,
    description=AssetDescription(
        group="schema",
        description="Unambiguous state variables: overlapping types merged, questions rewritten onto them (paper "
        "section 3.1, App. C.3). Every drafted type maps to one variable. Judges name choices that profiles "
        "deny, and states that exclude others.",
        rows=_rows,
        summary=stage_summaries.summarize_schemas,
    ),
)
