"""Noise: drawn by program, written under a key, and proved by the exposure gate to tell nothing new."""

from collections import Counter
from dataclasses import replace
from itertools import chain

import pytest

from assets.amemgym.records.persona import Cast, Companion
from assets.amemgym.records.state import EventSet, PeriodEvents, Session, StateTrajectory
from assets.amemgym.session_queries.drafts import NoiseKey, UserContext
from assets.amemgym.session_queries.noise import ACQUAINTANCE, draft_noise, draw_noise
from assets.amemgym.session_queries.stage import write_sessions
from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from tests.assets.amemgym.session_sets import EVENTS, INITIAL, PROBE, part, queries
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import coded, decoded, honest, material, telling
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Script, ScriptedModel
from tests.support.small import START, schema_of, trajectory_of

NOISE = "session_queries/noise"
NAMES = [f"variable_{number}" for number in range(8)]
SCHEMA = schema_of({name: [f"{name}_{value}" for value in "abc"] for name in NAMES})


def life(periods: int = 9) -> StateTrajectory:
    """In each period two variables take their next value."""
    states = [{name: f"{name}_a" for name in NAMES}]
    for period in range(1, periods):
        state = dict(states[-1])
        for name in (NAMES[period % 8], NAMES[(period + 3) % 8]):
            state[name] = f"{name}_{'abc'[('abc'.index(state[name][-1]) + 1) % 3]}"
        states.append(state)
    ends = [START.replace(year=START.year + period) for period in range(periods)]
    return trajectory_of(states, ends=ends)


def user(seed: int = 1, share: float = 0.35) -> UserContext:
    recipe = scenario.recipe(seed=seed, noise_share=share)
    return UserContext(scenario.profile(), SCHEMA, recipe, ScriptedModel())


@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.5])
@pytest.mark.parametrize("told", [[5, 1, 4, 4, 3, 1, 5, 4, 4], [16, 4, 4, 4, 4, 4, 4, 4, 4]])
def test_noise_is_the_recipes_share_of_all_sessions_and_no_session_more(share: float, told: list[int]) -> None:
    drawn = draw_noise(user(share=share), life(), told)
    noise = sum(map(len, drawn))
    assert noise / (noise + sum(told)) >= share
    assert noise == 0 or (noise - 1) / (noise - 1 + sum(told)) < share


def test_kinds_take_turns_and_each_says_only_what_is_so_of_the_user_throughout_its_period() -> None:
    kinds = Counter[str]()
    for seed in range(20):
        trajectory = life()
        for period, keys in zip(trajectory.periods, draw_noise(user(seed), trajectory, [16, *[4] * 8]), strict=True):
            spoken_of = [name for key in keys for name in (*key.exposed, *key.mentions)]
            assert len(spoken_of) == len(set(spoken_of))
            assert not set(spoken_of) & set(period.changed)
            for key in keys:
                kinds[key.kind] += 1
                assert key.exposed.items() <= period.state.items()
                assert not key.mentions.items() & period.state.items()
                assert key.kind != "restates" or period.index > 0
    assert max(kinds.values()) < 2 * min(kinds.values())


def test_a_past_value_is_one_that_held_and_what_never_held_comes_last_if_at_all() -> None:
    trajectory = life()
    seen = Counter[str]()
    for seed in range(20):
        for period, keys in zip(trajectory.periods, draw_noise(user(seed), trajectory, [16, *[4] * 8]), strict=True):
            for key in keys:
                for name, value in key.mentions.items():
                    had = {earlier.state[name] for earlier in trajectory.periods[: period.index]} - {period.state[name]}
                    later = [after.state[name] for after in trajectory.periods[period.index :] if name in after.changed]
                    seen[key.mentioned_as] += 1
                    if key.mentioned_as == "past" and had:
                        assert value in had
                    elif key.kind == "not_now":
                        assert value not in later[:1]
    assert min(seen["past"], seen["plan_or_wish"]) > 0


def test_a_message_has_a_length_of_its_own_and_is_not_short_if_it_tells_several_values() -> None:
    drawn = [user().draw_words(number) for number in range(400)]
    assert 15 <= min(drawn) < max(drawn) <= 100
    assert 70 < len([words for words in drawn if words < 30]) < 130 > len([words for words in drawn if words > 59]) > 70
    assert min(user().draw_words(number, values=2) for number in range(400)) == 30
    assert user(seed=2).draw_words(1) != user().draw_words(1) == user().draw_words(1)


def test_another_persons_value_is_offered_to_those_who_do_not_live_with_the_user_and_the_writer_chooses() -> None:
    wife = Companion(name="Ann", sex="female", relation="wife")
    brother = Companion(name="Ben", sex="male", relation="younger brother")
    friend = Companion(name="Cleo", sex="female", relation="old friend")
    cast = Cast(people=(wife, brother, friend))
    context = replace(user(), profile=scenario.profile(cast=cast))
    keys = chain.from_iterable(draw_noise(context, life(), [16, *[4] * 8]))
    people = ["my younger brother Ben", "my old friend Cleo"]
    assert {tuple(sorted(key.persons)) for key in keys if key.kind == "of_another"} == {(*sorted(people), ACQUAINTANCE)}
    key = NoiseKey("of_another", START, mentions={NAMES[0]: f"{NAMES[0]}_b"}, persons=tuple(people))
    reply = {"queries": [coded(key.mentions)], "persons": {"1": people[1]}}
    context = replace(context, model=ScriptedModel({NOISE: [{**reply, "persons": {"1": "my wife Ann"}}, reply]}))
    ((written, _),) = run(draft_noise(context, [(life().periods[1], key)], sample=0))
    assert (written.mentioned_as, written.persons) == (people[1], (people[1],))


def written(script: Script | None = None) -> tuple[list[list[Session]], ScriptedModel]:
    recipe = scenario.recipe(noise_share=0.5, gates={"votes": 1, "votes_needed": 1, "max_refinements": 1, "max_redrafts": 0})
    model = ScriptedModel({INITIAL: [queries(part(GOAL, DIET), part(EVENINGS))], **(script or {})})
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory(), EVENTS)
    record = run(write_sessions(*parts, recipe=recipe, model=model))
    return [list(period.sessions) for period in record.periods], model


def test_noise_stands_among_the_other_sessions_with_its_kind_and_key() -> None:
    periods, model = written()
    sessions = [session for own in periods for session in own]
    noise = [session for session in sessions if session.is_noise]
    assert len(noise) == len(sessions) - len(noise) == 4
    assert [session.session_time for session in sessions] == sorted({session.session_time for session in sessions})
    assert {session.event for session in noise} == {None}
    shown = [assignment for request in model.asked(NOISE) for assignment in material(request, "assignments")]
    assert Counter(assignment["kind"] for assignment in shown) == Counter(session.kind for session in noise)
    assert len(model.asked(NOISE)) == 1


def leaking(request: ModelRequest) -> dict[str, dict[str, list[int]]]:
    """Reads out of every message on an assignment that restates nothing that the diet is vegetarian."""
    told = {number: decoded(text) for number, text in material(request, "messages").items()}
    silent = [number for number, own in told.items() if own.keys() == {"assignment"}]
    return {number: telling(request, {DIET: "vegetarian"} if number in silent else own) for number, own in told.items()}


def test_noise_that_tells_something_is_written_anew_with_what_was_read() -> None:
    def leaking_at_first(request: ModelRequest) -> object:
        return honest(request) if request.sample else leaking(request)

    _, model = written({PROBE: [leaking_at_first]})
    again = [material(request, "refused") for request in model.asked(NOISE) if "<refused>" in request.messages[-1].content]
    assert again
    assert [one["read"] for one in again] == [{DIET: "vegetarian"}] * len(again)


def test_noise_that_keeps_telling_something_gives_the_user_up() -> None:
    with pytest.raises(ItemFailed, match=r"No draft of n0\d-01 passed the exposure gate"):
        written({PROBE: [leaking]})


def test_a_recipe_whose_judges_do_not_probe_can_have_no_noise() -> None:
    with pytest.raises(ValueError, match="no judge would read if noise tells a value"):
        scenario.recipe(noise_share=0.3, gates={"policy": "paper"})


def test_a_life_without_noise_asks_for_none() -> None:
    events = EventSet(
        user_id=scenario.USER_ID, periods=(PeriodEvents(index=1, events=EVENTS.periods[0].events), EVENTS.periods[1])
    )
    model = ScriptedModel({INITIAL: [queries(part(GOAL, DIET), part(EVENINGS))]})
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory(), events)
    run(write_sessions(*parts, recipe=scenario.recipe(), model=model))
    assert not model.asked(NOISE)
