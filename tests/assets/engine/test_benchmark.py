"""A benchmark puts its stages in order, and refuses a list that cannot be followed."""

from dataclasses import replace

import pytest

from assets.amemgym.pipeline import AMEMGYM


def test_stages_are_sorted_by_what_they_need_and_else_stay_as_listed() -> None:
    assert replace(AMEMGYM, stages=tuple(reversed(AMEMGYM.stages))).stages[0] == AMEMGYM.source
    for stage in AMEMGYM.stages:
        before = AMEMGYM.stage_names[: AMEMGYM.stage_names.index(stage.name)]
        assert {need.name for need in stage.needs} <= set(before)
    moved = (AMEMGYM.final, *AMEMGYM.stages[:-1])
    assert replace(AMEMGYM, stages=moved).stages == AMEMGYM.stages


def test_a_needed_stage_that_is_not_listed_is_named() -> None:
    with pytest.raises(ValueError, match=r"not listed: questions \(for state_schema\)"):
        replace(AMEMGYM, stages=tuple(stage for stage in AMEMGYM.stages if stage.name != "questions"))


def test_a_stage_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="listed twice"):
        replace(AMEMGYM, stages=(*AMEMGYM.stages, AMEMGYM.final))


def test_a_benchmark_without_a_stage_that_draws_is_refused() -> None:
    stages = tuple(replace(stage, draw=None) if stage == AMEMGYM.source else stage for stage in AMEMGYM.stages)
    with pytest.raises(ValueError, match="draws the items"):
        replace(AMEMGYM, stages=stages)


def test_an_unknown_stage_is_named_with_those_there_are() -> None:
    with pytest.raises(LookupError, match=r"no stage 'answer'; there are personas, .*answers"):
        AMEMGYM.stage("answer")
