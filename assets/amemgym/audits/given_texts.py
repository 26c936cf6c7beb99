"""Texts that somebody else wrote, read by the gates' judges under their labels: which would have been accepted."""

from collections.abc import Sequence
from typing import Any

from assets.amemgym.answers.gates import choice_gate, choose_answers, recover_variants, recovery_gate
from assets.amemgym.audits.decoys import event_gate, never_written, summary_gate
from assets.amemgym.audits.user_parts import AuditedUser
from assets.amemgym.session_queries.drafts import QueryDraft
from assets.amemgym.session_queries.exposure_gate import QUERIES_OF_ONE_PERIOD, exposure_gate, queries_per_call
from assets.amemgym.state_trajectory.told_states import texts_per_call
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, Reader, decide, independent_groups
from assets.recipe.recipe import Recipe
from assets.records.base import GateRecord

Gated = tuple[Gate[Any], GateAttempt]


async def judge_queries(user: AuditedUser) -> tuple[GateRecord, ...]:
    """The votes on every query, as at the exposure gate; nothing is written anew."""
    sources: dict[int, list[Gated]] = {}
    for item in user.session_items:
        draft = QueryDraft(item.item_id, item.session.query, item.session.exposed_states, {})
        gated = exposure_gate(user.context, draft, never_written), GateAttempt(item.item_id, item.session.query)
        sources.setdefault(item.period, []).append(gated)
    groups = independent_groups(list(sources.values()), size=queries_per_call(user.recipe.gates), of_one=QUERIES_OF_ONE_PERIOD)
    return await _votes(groups, user.read_queries, recipe=user.recipe)


async def judge_summaries(user: AuditedUser) -> tuple[GateRecord, ...]:
    """The votes on the summaries, each read in the user's story."""
    gated: list[list[Gated]] = [
        [(summary_gate(user, place), GateAttempt(one.item_id, one.text))]
        for place, one in enumerate(user.summaries)
        if one.text
    ]
    return await _votes(_of_story(gated, user), user.read_stories, recipe=user.recipe)


async def judge_events(user: AuditedUser) -> tuple[GateRecord, ...]:
    """The votes on the events of which sessions tell, each read in the user's story."""
    labels = {item.item_id: item.session.exposed_states for item in user.session_items}
    gated: list[list[Gated]] = [
        [(event_gate(user, item_id, labels[item_id]), GateAttempt(item_id, one.text))] for item_id, one in user.events.items()
    ]
    return await _votes(_of_story(gated, user), user.read_stories, recipe=user.recipe)


def _of_story(gated: Sequence[Sequence[Gated]], user: AuditedUser) -> list[list[Gated]]:
    return independent_groups(gated, size=texts_per_call(user.recipe))


async def judge_answers(user: AuditedUser) -> tuple[GateRecord, ...]:
    """The votes on every answer, as at the gates of answers: each reads all, so that one can be told from the other."""
    recipe, size = user.recipe, user.recipe.gates.texts_per_call
    recovery: list[list[Gated]] = []
    choice: list[list[Gated]] = []
    for question in user.questions:
        asked = question.context
        pairs = list(zip(asked.variants, question.texts, strict=True))
        recovery.append([(recovery_gate(asked, one), GateAttempt(asked.item_id(one), text)) for one, text in pairs])
        choice.append([(choice_gate(asked, one, question.texts), GateAttempt(asked.item_id(one), text)) for one, text in pairs])
    votes = await _votes(independent_groups(recovery, size=size), recover_variants, recipe=recipe)
    if not recipe.gates.reverse:
        return votes
    return (*votes, *await _votes(independent_groups(choice, size=size), choose_answers, recipe=recipe))


async def _votes(groups: Sequence[Sequence[Gated]], read: Reader[Any], *, recipe: Recipe) -> tuple[GateRecord, ...]:
    await gather_all(*(decide(group, read, recipe=recipe) for group in groups))
    return tuple(vote for group in groups for _, attempt in group for vote in attempt.records)
