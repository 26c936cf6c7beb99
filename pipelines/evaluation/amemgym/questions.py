"""The evaluation's questions (App. C.5): their prompts, options in seeded order, and the reading of answers.

An answer is read in any form that has one meaning, such as a number as text, and in no other.

In the wording "paper" they follow the form of the paper's own prompts, and options stand in the order of the data, so that a
score may stand beside the paper's tables.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, cast

from pydantic import ValidationError

from assets.amemgym.records.episode import EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from assets.llm.answer_text import extract_json
from assets.llm.structured_output import ReplySchema, object_of_enums
from pipelines.evaluation.choices import choice_schema, fold_option, read_option
from pipelines.evaluation.reasoning import ReadableTask, joined_text
from pipelines.memories.contract import RecallQuery, Task, Wording
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt

NOT_SHOWN = "(The question is not shown. Pick the reply that is likeliest to be right.)"
PromptVariant = Literal["question", "state_given", "options_only"]


def ordered_options(question: EpisodeQuestion, *path: object, wording: Wording) -> list[AnswerChoice]:
    """Return the options in an order that follows from the path alone, or, as in the paper, in that of the data."""
    # As its prompts have them, so that scores may stand beside its tables.
    if wording == "paper":
        return list(question.answer_choices)
    return SeededRandom(*path, question.question_id).shuffled(question.answer_choices)


def choice_question(
    question: EpisodeQuestion,
    options: Sequence[AnswerChoice],
    *,
    wording: Wording = "own",
    variant: PromptVariant = "question",
    state: Mapping[str, str] | None = None,
    recall_query: RecallQuery = "question-and-options",
) -> ReadableTask[str]:
    """Ask for one of the options as shown; read as a choice id. `state` goes with the variant "state_given"."""
    lines = list[str]()
    for number, option in enumerate(options, start=1):
        lines.append(f"{number}. {' '.join(option.answer.split())}")
    choices = "\n".join(lines)
    query = NOT_SHOWN if variant == "options_only" else question.query
    given: dict[str, object] = {"query": query, "choices": choices}
    name = "choose_answer"
    if variant == "state_given":
        name = "choose_with_state"
        given["state"] = dict(state or {})
    # Options share words with the messages that state the values: they help a search which would not see them in use.
    asked = query if recall_query == "question" else f"{query}\n{choices}"
    task = _task(_render_question(name, wording, given), query=asked, schema=choice_schema(len(options)))
    return ReadableTask(task, partial(_read_choice, options=options))


def states_question(choices: Mapping[str, Sequence[str]], *, wording: Wording = "own") -> ReadableTask[dict[str, str]]:
    """Ask for the value of every variable."""
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(choices))
    query = "; ".join(choices).replace("_", " ")
    prompt = _render_question("tell_states", wording, {"state_schema": choices})

    def salvage(first: str, second: str) -> dict[str, str]:
        # The later word counts.
        return {**_legal_values(first, choices), **_legal_values(second, choices)}

    task = _task(prompt, query=query, schema=reply_schema.json_schema)
    return ReadableTask(task, partial(_read_states, offered=choices, reply_schema=reply_schema), salvage)


def _render_question(name: str, wording: Wording, given: Mapping[str, object]) -> RenderedPrompt:
    if wording == "own":
        return load_prompt(f"evaluation/{name}").render(**given)
    texts = dict[str, str]()
    for key, value in given.items():
        # The paper's prompts take texts alone.
        texts[key] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return load_prompt(f"paper/{name}").render(**texts)


def _task(prompt: RenderedPrompt, *, query: str, schema: dict[str, object]) -> Task:
    # One message of the user. The paper's form is all in the last part: there, the question comes first.
    parts = prompt.messages[-1:] if prompt.name.startswith("paper/") else prompt.messages
    return Task(text=joined_text(parts), query=query, schema_name=prompt.name.replace("/", "_"), json_schema=schema)


def _read_choice(reply: str, *, options: Sequence[AnswerChoice]) -> str:
    return options[read_option(reply, [option.answer for option in options]) - 1].choice_id


def _read_states(
    reply: str, *, offered: Mapping[str, Sequence[str]], reply_schema: ReplySchema[dict[str, str]]
) -> dict[str, str]:
    try:
        return reply_schema.validate(_only_offered(extract_json(reply, keys=tuple(offered)), offered))
    except ValidationError as error:
        places = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
        wrong = ", ".join(sorted(places)) or "the whole object"
        raise ValueError(f"Give every kind exactly one of its values; see {wrong}.") from error


def _only_offered(content: object, offered: Mapping[str, Sequence[str]]) -> object:
    """Return the object without keys that nobody asked for, its values as they were offered where only the case differs."""
    if not isinstance(content, dict):
        return content
    kept = dict[str, object]()
    for name, value in cast(dict[str, object], content).items():
        if name in offered:
            kept[name] = _as_offered(value, offered[name])
    return kept


def _as_offered(value: object, values: Sequence[str]) -> object:
    if not isinstance(value, str) or value in values:
        return value
    alike = [each for each in values if fold_option(each) == fold_option(value)]
    return alike[0] if len(alike) == 1 else value


def _legal_values(reply: str, offered: Mapping[str, Sequence[str]]) -> dict[str, str]:
    try:
        content = _only_offered(extract_json(reply), offered)
    except ValueError:
        return {}
    if not isinstance(content, dict):
        return {}
    legal = dict[str, str]()
    for name, value in cast(dict[str, object], content).items():
        if value in offered[name]:
            legal[name] = str(value)
    return legal
