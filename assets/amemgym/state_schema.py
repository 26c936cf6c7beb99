"""Stage 4: from the questions, canonical state variables, merged and free of conflicts (section 3.1; App. C.3)."""

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet, RequiredInfo
from assets.amemgym.records.state import JudgedSchema, SchemaQuestion, StateSchema, StateVariable
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.seeded_random import SeededRandom
from assets.engine.stage import PromptCalls, Stage
from assets.llm.gate import Gate, GateAttempt, ReadingTask, VoteContext, first_vote_number, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import NAME, TEXT, ReplySchema, ask_structured, list_of, object_of, object_of_enums
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import duplicates
from assets.reporting.asset_description import AssetDescription, Metadata, Row
from assets.reporting.histogram import rounded_mean
from assets.text.words import alike, folded
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
    conflicts = _conflicts(questions, originals, merged)
    unified: dict[str, tuple[str, ...]] = {}
    if conflicts:
        unified = await _unify(profile, conflicts, recipe=recipe, model=model)
    variables: list[StateVariable] = []
    for name, keys in merged.items():
        choices = unified.get(name) or originals[keys[0]].info.info_choices
        variables.append(StateVariable(name=name, choices=choices, merged_from=tuple(keys)))
    rewritten = _rewritten(questions, originals, merged)
    schema = JudgedSchema(user_id=profile.user_id, variables=tuple(variables), questions=rewritten)
    if not recipe.gates.consistency:
        return schema
    return await pass_judges(profile, schema, recipe=recipe, model=model)


def originals_of(questions: QuestionSet) -> dict[str, Original]:
    """Return all drafted types by unique key: a type that several questions use gets the question's id as suffix."""
    types = [info.info_type for info in questions.infos]
    repeated = set(duplicates(types))
    originals: dict[str, Original] = {}
    for question in questions.questions:
        for info in question.required_info:
            key = info.info_type
            if key in repeated:
                key = f"{key}_{question.question_id}"
                # A drafted type may already have the name with the suffix.
                while key in types:
                    key += "_again"  # a sign would not do: the two names would read the same
            originals[key] = Original(key, question.question_id, info)
    return originals


async def _merge(
    profile: UserProfile, questions: QuestionSet, *, recipe: AMemGymRecipe, model: LanguageModel
) -> dict[str, list[str]]:
    originals = originals_of(questions)
    prompt = load_prompt("state_schema/refine").render(
        user_profile=profile.formatted_str, questions=_in_prompt(questions, originals), language=recipe.language_name
    )
    tries = itertools.count()

    def convert(reply: dict[str, str]) -> dict[str, list[str]]:
        # On the last try unfit names give way to the drafted ones.
        last = next(tries) >= recipe.gates.max_reasks
        names = _mended(reply, originals) if last else reply
        merged: dict[str, list[str]] = {}
        for key, name in names.items():
            merged.setdefault(name, []).append(key)
        _check_names(merged, originals)
        _check_room(len(merged), recipe)
        return merged

    # Types to names, not the other way round as in the paper: every type is then named once, and a reply has an end.
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(originals, NAME)))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, settings=recipe.asking)


def _in_prompt(questions: QuestionSet, originals: Mapping[str, Original]) -> list[dict[str, object]]:
    asked: dict[str, dict[str, list[str]]] = {question.question_id: {} for question in questions.questions}
    for key, original in originals.items():
        asked[original.question_id][key] = list(original.info.info_choices)
    shown: list[dict[str, object]] = []
    for question in questions.questions:
        shown.append({"question": question.text, "required_info": asked[question.question_id]})
    return shown


def _check_names(merged: Mapping[str, list[str]], originals: Mapping[str, Original]) -> None:
    for group in alike(merged):
        raise ValueError(f"The names {group} read the same; give one name to what is the same, and others to what is not.")
    for name, keys in merged.items():
        asking: set[str] = set()
        for key in keys:
            if originals[key].question_id in asking:
                raise ValueError(f"{keys} all became {name!r}, but two of them belong to the same question; keep those apart.")
            asking.add(originals[key].question_id)
        for key in keys:
            if _is_choice(name, originals[key]):
                raise ValueError(f"{name!r} is a choice of {key!r}; give the type a name that covers all its choices.")


def _is_choice(name: str, original: Original) -> bool:
    """Return True if the name is one of the choices, however its words are joined: no query could set that value apart."""
    return folded(name) in map(folded, original.info.info_choices)


def _mended(reply: Mapping[str, str], originals: Mapping[str, Original]) -> dict[str, str]:
    """Return the reply with the drafted name wherever the new one will not do: a name is no reason to lose a user."""
    names: dict[str, str] = {}
    taken = set[tuple[str, str]]()
    for key, original in originals.items():
        name = reply[key]
        if _is_choice(name, original) or (original.question_id, name) in taken:
            name = key
        names[key] = name
        taken.add((original.question_id, name))
    return names


def _check_room(variables: int, recipe: AMemGymRecipe) -> None:
    # A variable changes at most once in a period.
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
    """Return one set of choices for each variable. `conflicts`: its questions with choices that they have now."""
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
        choices: dict[str, tuple[str, ...]] = {}
        for name, values in reply.items():
            choices[name] = tuple(values)
            repeated = list(alike(values))
            if repeated:
                raise ValueError(f"The choices of {name!r} must differ; these read the same: {repeated}.")
            still_denied = set(map(folded, values)).intersection(map(folded, refused.get(name, ())))
            if still_denied:
                raise ValueError(
                    f"The profile denies {sorted(still_denied)} of {name!r}; put choices in their place that it allows."
                )
        return choices

    values = list_of(NAME, min_items=recipe.num_choices_per_state, max_items=recipe.num_choices_per_state)
    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(object_of(dict.fromkeys(conflicts, values)))
    return await ask_structured(
        model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=recipe.asking
    )


def _conflicts(
    questions: QuestionSet, originals: Mapping[str, Original], merged: Mapping[str, list[str]]
) -> dict[str, list[dict[str, object]]]:
    """Return the variables whose merged types have different choices, each with its questions and their choices."""
    texts = {question.question_id: question.text for question in questions.questions}
    conflicts: dict[str, list[dict[str, object]]] = {}
    for name, keys in merged.items():
        differing: set[tuple[str, ...]] = set()
        drafted: list[dict[str, object]] = []
        for key in keys:
            choices = originals[key].info.info_choices
            differing.add(choices)
            drafted.append({"question": texts[originals[key].question_id], "info_choices": list(choices)})
        # Types of equal choices need no call to be unified.
        if len(differing) > 1:
            conflicts[name] = drafted
    return conflicts


@dataclass(frozen=True)
class SchemaFindings:
    """The findings of a judge: choices that the profile denies, and values of two variables that exclude each other."""

    denied: Denied
    exclusive: list[dict[str, str]]


async def pass_judges(
    profile: UserProfile, schema: JudgedSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> JudgedSchema:
    """Let the choices pass their gate, whose text is their JSON; what excludes each other is what any vote on them found."""
    found: defaultdict[str, list[SchemaFindings]] = defaultdict(list)  # by the JSON that was judged
    drafted = json.dumps(schema.choices)

    async def read(tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        (task,) = tasks
        findings = await _find_impossible(profile, json.loads(task.text), vote=task.vote, recipe=recipe, model=model)
        found[task.text].append(findings)
        reading: dict[str, str] = {}
        for name, denied in findings.denied.items():
            reading[name] = "; ".join(f"{choice}: {why}" for choice, why in denied.items())
        return [reading]

    async def refine(text: str, _: dict[str, str], sample: int) -> str:
        denied: Denied = {}
        for findings in found[text]:
            denied = findings.denied or denied  # of several votes the last that denied anything
        choices: dict[str, list[str]] = json.loads(text)
        conflicts: dict[str, list[dict[str, object]]] = {}
        for name in denied:
            asking = [question.text for question in schema.questions if name in question.required_info]
            conflicts[name] = [{"question": question, "info_choices": choices[name]} for question in asking]
        unified = await _unify(profile, conflicts, recipe=recipe, model=model, denied=denied, sample=sample)
        return json.dumps({**choices, **unified})

    gate = Gate("schema", {}, None, refine, lambda draft: refine(drafted, {}, first_vote_number(draft, 0)))
    attempt = GateAttempt("schema", drafted)
    await pass_gates([[(gate, attempt)]], read, size=1, recipe=recipe)
    choices: dict[str, list[str]] = json.loads(attempt.text)
    variables: list[StateVariable] = []
    for variable in schema.variables:
        variables.append(variable.model_copy(update={"choices": tuple(choices[variable.name])}))
    exclusive: dict[frozenset[tuple[str, str]], dict[str, str]] = {}
    for findings in found[attempt.text]:
        for pair in findings.exclusive:
            exclusive[frozenset(pair.items())] = pair
    return JudgedSchema(
        user_id=schema.user_id,
        variables=tuple(variables),
        questions=schema.questions,
        exclusive=tuple(exclusive.values()),
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
    rng = SeededRandom(recipe.world_seed, profile.user_id, "schema", vote.number)
    shuffled = rng.shuffled_lists(choices)
    prompt = load_prompt("state_schema/check").render(user_profile=profile.formatted_str, state_schema=shuffled)

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
        settings=recipe.asking,
    )


def _rewritten(
    questions: QuestionSet, originals: Mapping[str, Original], merged: Mapping[str, list[str]]
) -> tuple[SchemaQuestion, ...]:
    """Return the questions with the merged variables in place of their own types."""
    variable_of: dict[str, str] = {}
    for name, keys in merged.items():
        variable_of.update(dict.fromkeys(keys, name))
    required: defaultdict[str, list[str]] = defaultdict(list)
    for key, original in originals.items():
        required[original.question_id].append(variable_of[key])
    rewritten: list[SchemaQuestion] = []
    for question in questions.questions:
        names = tuple(required[question.question_id])
        rewritten.append(SchemaQuestion(question_id=question.question_id, text=question.text, required_info=names))
    return tuple(rewritten)


def summarize_schemas(schemas: Sequence[StateSchema]) -> Metadata:
    """Return how many variables are left of how many types, and how many serve several questions."""
    counts: list[int] = []
    drafted = 0
    shared = 0
    for one in schemas:
        counts.append(len(one.variables))
        for variable in one.variables:
            drafted += len(variable.merged_from)
        uses = Counter[str]()
        for question in one.questions:
            uses.update(question.required_info)
        # Those that are left when each is taken out once are used again.
        shared += len(uses - Counter(uses.keys()))
    return {
        "variables": sum(counts),
        "variables_per_user": rounded_mean(counts),
        "merged_types": drafted - sum(counts),
        "variables_of_several_questions": shared,
    }


def _rows(schema: JudgedSchema) -> list[Row]:
    return [{"variable": one.name, "choices": one.choices, "merged from": one.merged_from} for one in schema.variables]


def _votes(recipe: AMemGymRecipe) -> float:
    """Return the votes that accept a first draft."""
    return float(recipe.gates.votes_for("schema")[1] * recipe.gates.consistency)


STATE_SCHEMA = Stage(
    name="state_schema",
    record=JudgedSchema,
    make=refine_schema,
    needs=(USER_PROFILES, QUESTIONS),
    prompts=("state_schema/refine", "state_schema/unify", "state_schema/check"),
    calls={
        "state_schema/refine": PromptCalls(),
        "state_schema/unify": PromptCalls(always=False),
        "state_schema/check": PromptCalls(_votes, always=False),
    },
    version=2,
    description=AssetDescription(
        group="schema",
        description="Unambiguous state variables: overlapping types merged, questions rewritten onto them (paper "
        "section 3.1, App. C.3). Every drafted type maps to one variable. Judges name choices that profiles "
        "deny, and states that exclude others.",
        rows=_rows,
        summary=summarize_schemas,
    ),
)
