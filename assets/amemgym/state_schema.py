"""Stage 4: from the questions, canonical state variables, merged and free of conflicts (section 3.1; App. C.3)."""

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from assets.amemgym.questions import QUESTIONS, check_choices_can_show, check_questions_apart, choice_part, question_in_context
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet, RequiredInfo
from assets.amemgym.records.state import JudgedSchema, SchemaQuestion, StateSchema, StateVariable, selected
from assets.amemgym.schema_gate import Denied, SchemaReader, judged_text
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.gate import Gate, GateAttempt, first_vote_number, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import PROSE, SHORT_NAME, ReplySchema, ask_structured, list_of, object_of
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import duplicates
from assets.reporting.asset_description import AssetDescription, Metadata, Row
from assets.reporting.histogram import rounded_mean
from assets.text.text_checks import StyleCheck
from assets.text.words import alike, folded
from prompts.catalogue import load_prompt


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

    Then judges look for choices that the profile denies, which get others in their place, for questions that their variables
    do not decide, which get other words, for states that exclude each other, and for those that the profile states.
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
    schema = StateSchema(user_id=profile.user_id, variables=tuple(variables), questions=rewritten)
    if not recipe.gates.consistency:
        return JudgedSchema(user_id=schema.user_id, variables=schema.variables, questions=schema.questions)
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
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(originals, SHORT_NAME)))
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
        check_choices_can_show(reply.items(), recipe=recipe)
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

    values = list_of(choice_part(recipe), min_items=recipe.num_choices_per_state, max_items=recipe.num_choices_per_state)
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


async def pass_judges(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> JudgedSchema:
    """Let choices and questions pass their gate; what exclude each other and what is stated are the votes' findings, too."""
    reader = SchemaReader(profile, schema, recipe, model)
    drafted = judged_text(schema)

    async def refine(text: str, _: dict[str, str], sample: int) -> str:
        # Of several votes the last that found what can be mended; what the profile contradicts in itself cannot.
        found = reversed(reader.found[text])
        refused = next((findings for findings in found if findings.denied or findings.undecided), None)
        if refused is None:
            return text
        judged = json.loads(text)
        if refused.denied:
            judged["choices"] |= await _replaced(refused.denied, judged["choices"], reader, sample=sample)
        if refused.undecided:
            judged["questions"] |= await _reworded(refused.undecided, judged, reader, sample=sample)
        return json.dumps(judged)

    gate = Gate("schema", {}, None, refine, lambda draft: refine(drafted, {}, first_vote_number(draft, 0)))
    attempt = GateAttempt("schema", drafted)
    await pass_gates([[(gate, attempt)]], reader.read, size=1, recipe=recipe)
    judged = json.loads(attempt.text)
    variables: list[StateVariable] = []
    for variable in schema.variables:
        variables.append(variable.model_copy(update={"choices": tuple(judged["choices"][variable.name])}))
    questions: list[SchemaQuestion] = []
    for question in schema.questions:
        questions.append(question.model_copy(update={"text": judged["questions"][question.question_id]}))
    return JudgedSchema(
        user_id=schema.user_id,
        variables=tuple(variables),
        questions=tuple(questions),
        exclusive=reader.exclusive(attempt.text),
        stated=reader.stated(attempt.text),
        gate_records=tuple(attempt.records),
    )


async def _replaced(
    denied: Denied, choices: Mapping[str, list[str]], reader: SchemaReader, *, sample: int
) -> dict[str, tuple[str, ...]]:
    """Return new choices of the variables of which some are denied."""
    conflicts: dict[str, list[dict[str, object]]] = {}
    for name in denied:
        asking = [question.text for question in reader.schema.questions if name in question.required_info]
        conflicts[name] = [{"question": question, "info_choices": choices[name]} for question in asking]
    return await _unify(reader.profile, conflicts, recipe=reader.recipe, model=reader.model, denied=denied, sample=sample)


async def _reworded(
    undecided: Sequence[str], judged: Mapping[str, Any], reader: SchemaReader, *, sample: int
) -> dict[str, str]:
    """Return new words of the questions whose variables do not decide them."""
    recipe = reader.recipe
    shown: dict[str, dict[str, object]] = {}
    choices: dict[str, list[str]] = {}
    for question in reader.schema.questions:
        if question.question_id in undecided:
            own = selected(judged["choices"], question.required_info)
            choices[question.question_id] = list(chain.from_iterable(own.values()))
            shown[question.question_id] = {"question": judged["questions"][question.question_id], "variables": own}
    prompt = load_prompt("state_schema/reword").render(
        user_profile=reader.profile.formatted_str, questions=shown, language=recipe.language_name
    )
    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Question")

    def convert(reply: dict[str, str]) -> dict[str, str]:
        check_questions_apart({**judged["questions"], **reply}.values())
        style.check(question_in_context(text, choices[one], recipe=recipe) for one, text in reply.items())
        return reply

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(dict.fromkeys(shown, PROSE)))
    return await ask_structured(
        reader.model, prompt=prompt, reply=reply_schema, convert=convert, sample=sample, settings=recipe.asking
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
    prompts=("state_schema/refine", "state_schema/unify", "state_schema/reword", "state_schema/check"),
    calls={
        "state_schema/refine": PromptCalls(),
        "state_schema/unify": PromptCalls(always=False),
        "state_schema/reword": PromptCalls(always=False),
        "state_schema/check": PromptCalls(_votes, always=False),
    },
    version=4,
    description=AssetDescription(
        group="schema",
        description="Unambiguous state variables: overlapping types merged, questions rewritten onto them (paper "
        "section 3.1, App. C.3). Judges name choices that profiles deny or state, states that exclude others, and "
        "questions left undecided.",
        rows=_rows,
        summary=summarize_schemas,
    ),
)
