"""What a stage tells its users: problems in one sentence, tables that hold together, progress now and then."""

import errno
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from assets.ports import EndpointError, ModelRequest, StageProgress
from assets.progress import LoggedProgress, progress_line
from assets.stage import markdown_table, shortfall, told_in_one_sentence
from assets.user_profiles import USER_PROFILES
from tests.support import ScriptedModel, line_of, materialized, reply, run, sampled, small_recipe, workshop

PROMPT = "user_profiles/complete"


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (EndpointError("The key is wrong; set OPENAI_API_KEY."), "The key is wrong; set OPENAI_API_KEY."),
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), "/data/x cannot be written: No space left on device."),
        (OSError("Snapshot file x is missing."), "Snapshot file x is missing."),
    ],
    ids=["endpoint", "disk", "store"],
)
def test_a_problem_the_user_can_mend_is_one_sentence_without_retry(tmp_path: Path, problem: Exception, told: str) -> None:
    def failing(_: ModelRequest) -> object:
        raise problem

    shop, recipe = workshop(tmp_path, ScriptedModel({PROMPT: [failing]})), small_recipe()
    line = line_of(USER_PROFILES, shop, recipe, {"personas": sampled(shop, recipe)})
    with pytest.raises(dg.Failure) as failure:
        run(told_in_one_sentence(line))
    assert failure.value.description is not None
    assert failure.value.description.startswith(told)
    assert failure.value.allow_retries is False


def test_missing_users_are_told_with_what_to_do(tmp_path: Path) -> None:
    shop = workshop(tmp_path, ScriptedModel({PROMPT: [reply("No.", finish="refusal")]}))
    result = materialized(shop, small_recipe(), USER_PROFILES)["user_profiles"]
    assert shortfall(result).startswith("Only 0 of 2 users passed user_profiles and the reserve is used up; raise num_reserve")


def test_cells_cannot_break_their_table() -> None:
    rows: list[dict[str, object]] = [{"a": "x | y\nz", "b": {"k": 1, "m": "n"}}, {"a": ["p", "q"], "c": "left out"}]
    assert markdown_table(rows).splitlines() == ["| a | b |", "|---|---|", "| x \\| y z | k = 1, m = n |", "| p, q | None |"]
    assert markdown_table([{"a": "x" * 500}]).splitlines()[2] == f"| {'x' * 397}... |"
    assert markdown_table([{"a": "![see](http://a.b/c) <b>"}]).splitlines()[2] == "| !\\[see\\](http://a.b/c) \\<b\\> |"
    assert markdown_table([]) == "no rows"


PROGRESS = StageProgress(stage="answers", unit="base", done=5, total=20, failed=1, calls=300, repeated=100, seconds=10.0)


def test_progress_tells_users_calls_failures_and_time_left() -> None:
    assert progress_line(PROGRESS) == (
        "answers of base: 5 of 20 users, 300 calls (100 from the cache, 30/s), 1 given up, about 30 s left"
    )


def test_progress_before_the_first_user_promises_no_time() -> None:
    line = progress_line(replace(PROGRESS, done=0, failed=0, calls=0, repeated=0, seconds=0.0))
    assert line == "answers of base: 0 of 20 users, 0 calls (0 from the cache, 0/s)"


def test_progress_is_logged_every_five_seconds_at_most() -> None:
    written: list[object] = []
    log = LoggedProgress(written.append)
    for tenth in range(0, 120, 5):
        log(replace(PROGRESS, seconds=tenth / 10))
    assert len(written) == 2
