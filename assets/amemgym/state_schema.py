"""Stage 4: from the questions, canonical state variables, merged and free of conflicts (section 3.1; App. C.3)."""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assets.amemgym.questions import QUESTIONS, check_choices, check_room, choice_part, redraft_questions
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import Question, QuestionSet, RequiredInfo
from assets.amemgym.records.state import JudgedSchema, SchemaQuestion, StateSchema, StateVariable
from assets.amemgym.schema_gate import CHECKS, SchemaReader, judged_text, schema_in
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.gate import Gate, GateAttempt, first_vote_number, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import SHORT_NAME, ReplySchema, ask_structured, list_of, object_of
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import duplicates
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
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

    Then judges look for choices that nobody would mention, that go together, or that the profile denies or announces, and for
    questions that their variables do not decide: such questions are drafted anew. They also look for states that exclude each
    other, and for those that the profile states.
    """
    originals = originals_of(questions)
    merged = await _merge(profile, questions, recipe=recipe, model=model)
    conflicts = _conflicts(questions, originals, merged)
    unified: dict[str, tuple[str, ...]] = {}
    if conflicts:
        unified = await _unify(profile, conflicts, recipe=recipe, model=model)
    choices: dict[str, tuple[str, ...]] = {}
    names: dict[str, str] = {}
    for name, keys in merged.items():
        choices[name] = unified.get(name) or originals[keys[0]].info.info_choices
        names.update(dict.fromkeys(keys, name))
    texts = {question.question_id: question.text for question in questions.questions}
    required: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for key, original in originals.items():
        required[original.question_id][key] = names[key]
    schema = _make_schema(profile.user_id, texts, required, choices)
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
        user_profile=profile.in_prompt, questions=_in_prompt(questions, originals), language=recipe.language_name
    )
    tries = itertools.count()

    def convert(reply: dict[str, str]) -> dict[str, list[str]]:
        # On the last try unfit names give way to the drafted ones.
        last = next(tries) >= recipe.gates.max_reasks
        names = {key: reply.get(key, key) for key in originals}
        if last:
            names = _mend_names(names, originals)
        else:
            _check_shared_names(reply, originals)
        merged: dict[str, list[str]] = {}
        for key, name in names.items():
            merged.setdefault(name, []).append(key)
        _check_names(merged, originals)
        check_room(len(merged), recipe)
        return merged

    # Types to names, not the other way round as in the paper: a type is then named once at most, and a reply has an end.
    fields = dict.fromkeys(originals, SHORT_NAME)
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of(fields, required=False))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, settings=recipe.asking)


def _in_prompt(questions: QuestionSet, originals: Mapping[str, Original]) -> list[dict[str, object]]:
    asked: dict[str, dict[str, list[str]]] = {question.question_id: {} for question in questions.questions}
    for key, original in originals.items():
        asked[original.question_id][key] = list(original.info.info_choices)
    shown: list[dict[str, object]] = []
    for question in questions.questions:
        shown.append({"question": question.text, "required_info": asked[question.question_id]})
    return shown


def _check_shared_names(reply: Mapping[str, str], originals: Mapping[str, Original]) -> None:
    """Raise ValueError where a type whose name several questions use gets none: its key says no more than the question."""
    unnamed = [key for key, original in originals.items() if key != original.info.info_type and key not in reply]
    if unnamed:
        raise ValueError(f"Several questions use the names of {unnamed}; give each of these types a name.")


def _check_names(merged: Mapping[str, list[str]], originals: Mapping[str, Original]) -> None:
    for group in alike(merged):
        raise ValueError(
            f"The names {group} read the same. Use one of them for types that ask for the same, and other names for the rest."
        )
    for name, keys in merged.items():
        asking: set[str] = set()
        for key in keys:
            if originals[key].question_id in asking:
                raise ValueError(
                    f"{keys} all became {name!r}, but two of them belong to the same question. Give these two other names."
                )
            asking.add(originals[key].question_id)
        for key in keys:
            if _is_choice(name, originals[key]):
                raise ValueError(f"{name!r} is a choice of {key!r}. Take a name that covers all choices.")


def _is_choice(name: str, original: Original) -> bool:
    """Return True if the name is one of the choices, however its words are joined: no query could set that value apart."""
    return folded(name) in map(folded, original.info.info_choices)


def _mend_names(reply: Mapping[str, str], originals: Mapping[str, Original]) -> dict[str, str]:
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


async def _unify(
    profile: UserProfile,
    conflicts: Mapping[str, Sequence[Mapping[str, object]]],
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> dict[str, tuple[str, ...]]:
    """Return one set of choices for each variable. `conflicts`: its questions with choices that they have now."""
    prompt = load_prompt("state_schema/unify").render(
        user_profile=profile.in_prompt,
        start_date=recipe.start_date.isoformat(),
        conflicts=conflicts,
        num_choices_per_state=recipe.num_choices_per_state,
        num_total_months=recipe.num_total_months,
        language=recipe.language_name,
    )

    def convert(reply: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
        choices: dict[str, tuple[str, ...]] = {}
        for name, values in reply.items():
            check_choices(name, values, profile=profile, recipe=recipe)
            choices[name] = tuple(values)
            repeated = list(alike(values))
            if repeated:
                raise ValueError(f"The choices of {name!r} must differ; these read the same: {repeated}.")
        return choices

    values = list_of(choice_part(recipe), min_items=recipe.num_choices_per_state, max_items=recipe.num_choices_per_state)
    reply_schema: ReplySchema[dict[str, list[str]]] = ReplySchema(object_of(dict.fromkeys(conflicts, values)))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, settings=recipe.asking)


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
    reader = SchemaReader(profile, recipe, model)
    drafted = judged_text(schema)

    async def refine(text: str, _: dict[str, str], sample: int) -> str:
        before = schema_in(text)
        # Of several votes the last that found what can be mended; what the profile contradicts in itself cannot.
        for findings in reversed(reader.found[text]):
            faults = findings.faults_of(before)
            if faults:
                after = await _redraft_faulty(profile, before, faults, recipe=recipe, model=model, sample=sample)
                return judged_text(after)
        return text

    gate = Gate("schema", {}, None, refine, lambda draft: refine(drafted, {}, first_vote_number(draft, 0)))
    attempt = GateAttempt("schema", drafted)
    await pass_gates([[(gate, attempt)]], reader.read, size=1, recipe=recipe)
    passed = schema_in(attempt.text)
    return JudgedSchema(
        user_id=schema.user_id,
        variables=passed.variables,
        questions=passed.questions,
        exclusive=reader.exclusive(attempt.text),
        stated=reader.stated(attempt.text),
        gate_records=tuple(attempt.records),
    )


async def _redraft_faulty(
    profile: UserProfile,
    schema: StateSchema,
    faults: Mapping[str, Sequence[str]],
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
    sample: int,
) -> StateSchema:
    """Return the schema with new questions in place of those with faults, and the variables that these need."""
    questions: list[Question] = []
    for question in schema.questions:
        infos = [RequiredInfo(info_type=name, info_choices=tuple(schema.choices[name])) for name in question.required_info]
        questions.append(Question(question_id=question.question_id, text=question.text, required_info=tuple(infos)))
    redrafted = await redraft_questions(profile, questions, faults, recipe=recipe, model=model, sample=sample)
    # A variable has its drafted types in the order of the questions that need it.
    keys_left = {variable.name: iter(variable.merged_from) for variable in schema.variables}
    texts: dict[str, str] = {}
    required: dict[str, dict[str, str]] = {}
    choices: dict[str, tuple[str, ...]] = {}
    for earlier, question in zip(schema.questions, redrafted, strict=True):
        texts[question.question_id] = question.text
        required[question.question_id] = {}
        for name, info in zip(earlier.required_info, question.required_info, strict=True):
            required[question.question_id][next(keys_left[name])] = info.info_type
            choices[info.info_type] = info.info_choices
    return _make_schema(schema.user_id, texts, required, choices)


def _make_schema(
    user_id: str,
    texts: Mapping[str, str],
    required: Mapping[str, Mapping[str, str]],
    choices: Mapping[str, tuple[str, ...]],
) -> StateSchema:
    """Return the schema of these questions. `required`: of each, by drafted type in order, the variable that replaces it."""
    questions: list[SchemaQuestion] = []
    merged_from: defaultdict[str, list[str]] = defaultdict(list)
    for question_id, text in texts.items():
        names = required[question_id]
        questions.append(SchemaQuestion(question_id=question_id, text=text, required_info=tuple(names.values())))
        for key, name in names.items():
            merged_from[name].append(key)
    variables: list[StateVariable] = []
    for name, keys in merged_from.items():
        variables.append(StateVariable(name=name, choices=choices[name], merged_from=tuple(keys)))
    return StateSchema(user_id=user_id, variables=tuple(variables), questions=tuple(questions))


def _votes(recipe: AMemGymRecipe) -> float:
    """Return the votes that accept a first draft."""
    return float(recipe.gates.votes_for("schema")[1] * recipe.gates.consistency)


STATE_SCHEMA = Stage(
    name="state_schema",
    record=JudgedSchema,
    make=refine_schema,
    needs=(USER_PROFILES, QUESTIONS),
    prompts=("state_schema/refine", "state_schema/unify", "questions/redraft", *CHECKS),
    calls={
        "state_schema/refine": PromptCalls(),
        "state_schema/unify": PromptCalls(always=False),
        **{name: PromptCalls(_votes, always=False) for name in CHECKS},
    },
    version=5,
    description=AssetDescription(
        group="states",
        description="Unambiguous state variables: overlapping types merged, questions rewritten onto them (paper "
        "section 3.1, App. C.3). Judges name choices that fail, states that exclude others, and questions left undecided, "
        "which are drafted anew.",
        rows=preview_rows("variables", "variable=name choices merged_from"),
    ),
)
