"""Texts that somebody else wrote, read by the gates' judges under their labels to see which would have been accepted."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from assets.amemgym.answers.gates import (
    answers_of_one_question,
    answers_per_call,
    choice_gate,
    choose_answers,
    recover_variants,
    recovery_gate,
)
from assets.amemgym.audits.user_parts import AuditedUser, never_written
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import JudgedSchema, StateSchema
from assets.amemgym.schema_gate import SchemaReader, judged_text
from assets.amemgym.session_queries.exposure_gate import QUERIES_OF_ONE_PERIOD, queries_per_call
from assets.amemgym.state_trajectory.story_reading import texts_per_call
from assets.llm.gate import Gate, GateAttempt, Reader, take_votes
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord

Gated = tuple[Gate[Any], GateAttempt]


async def judge_profile_and_schema(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> JudgedSchema:
    """Return the schema with the votes on its choices and questions and on the profile, and what these found."""
    reader = SchemaReader(profile, recipe, model)
    text = judged_text(schema)
    gated = (Gate("schema", {}, None, never_written, never_written), GateAttempt("schema", text))
    votes = await _votes([[gated]], reader.read, size=1, recipe=recipe)
    # Without its checks, as the schema itself: rules say what is wrong with it.
    return JudgedSchema.model_construct(
        user_id=schema.user_id,
        variables=schema.variables,
        questions=schema.questions,
        exclusive=reader.exclusive(text),
        stated=reader.stated(text),
        gate_records=votes,
    )


async def judge_queries(user: AuditedUser) -> tuple[GateRecord, ...]:
    """Return the votes on every query, as at the exposure gate; nothing is written anew."""
    periods: dict[int, list[Gated]] = {}
    for item in user.session_items:
        query = item.session.query
        gate = user.query_gate(item.item_id, query, label=item.session.exposed_states)
        periods.setdefault(item.period, []).append((gate, GateAttempt(item.item_id, query)))
    size = queries_per_call(user.recipe.gates)
    sources = list(periods.values())
    return await _votes(sources, user.read_queries, size=size, of_one=QUERIES_OF_ONE_PERIOD, recipe=user.recipe)


async def judge_summaries(user: AuditedUser) -> tuple[GateRecord, ...]:
    """Return the votes on the summaries, each read in the user's story."""
    gated: list[Gated] = []
    for period, summary in enumerate(user.summaries, start=1):
        if summary.text:
            gated.append((user.summary_gate(period), GateAttempt(summary.item_id, summary.text)))
    return await _story_votes(user, gated)


async def judge_events(user: AuditedUser) -> tuple[GateRecord, ...]:
    """Return the votes on the events of which sessions tell, each read in the user's story."""
    gated: list[Gated] = []
    for item in user.session_items:
        if item.item_id in user.events:
            gate = user.event_gate(item.item_id, label=item.session.exposed_states)
            gated.append((gate, GateAttempt(item.item_id, user.events[item.item_id].text)))
    return await _story_votes(user, gated)


async def _story_votes(user: AuditedUser, gated: Sequence[Gated]) -> tuple[GateRecord, ...]:
    # Each text is a source of its own: a judge sees the whole story anyway.
    return await _votes([[text] for text in gated], user.read_stories, size=texts_per_call(user.recipe), recipe=user.recipe)


async def judge_answers(user: AuditedUser) -> tuple[GateRecord, ...]:
    """Return the votes on every answer, as at the gates of answers: each reads all, so that one can be told from the other."""
    recovery: list[list[Gated]] = []
    choice: list[list[Gated]] = []
    for question in user.questions:
        asked = question.context
        of_recovery: list[Gated] = []
        of_choice: list[Gated] = []
        for variant, text in zip(asked.variants, question.texts, strict=True):
            item_id = asked.item_id(variant)
            of_recovery.append((recovery_gate(asked, variant), GateAttempt(item_id, text)))
            of_choice.append((choice_gate(asked, variant, question.texts), GateAttempt(item_id, text)))
        recovery.append(of_recovery)
        choice.append(of_choice)
    size = answers_per_call(user.recipe.gates)
    of_one = answers_of_one_question(user.recipe)
    votes = await _votes(recovery, recover_variants, size=size, of_one=of_one, recipe=user.recipe)
    if user.recipe.gates.reverse:
        votes += await _votes(choice, choose_answers, size=size, of_one=of_one, recipe=user.recipe)
    return votes


async def _votes(
    sources: Sequence[Sequence[Gated]], read: Reader[Any], *, size: int, of_one: int = 1, recipe: Recipe
) -> tuple[GateRecord, ...]:
    await take_votes(sources, read, size=size, of_one=of_one, recipe=recipe)
    votes: list[GateRecord] = []
    for _, attempt in chain.from_iterable(sources):
        votes.extend(attempt.records)
    return tuple(votes)
