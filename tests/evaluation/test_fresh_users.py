"""Users that nobody has seen: how they are made and kept, and what a memory that carries the release loses by them."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from assets.recipe.recipe import Budget
from assets.records.estimate import Estimate
from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import read_run
from pipelines.evaluation.fresh_users import fresh_users_of
from pipelines.evaluation.metrics.fresh import FreshScore, UserCount, compare_with_fresh, count_users
from pipelines.home import Home
from pipelines.opening.models import open_models
from pipelines.planning.forecast import Terms
from tests.support.commands import amemgym, amemgym_here, kill, own_surroundings
from tests.support.coroutines import run
from tests.support.made_once import make_once

CONTAMINATED = Path(__file__).with_name("contaminated_memories.py")
# Of a run, what a score is not made of.
QUICK = ("--conditions", "", "--set", "baselines=false", "--set", "probes=none")


def score_of(public: Sequence[int], fresh: Sequence[int], *, asked: int = 16) -> FreshScore:
    """The comparison of users with so many right answers each."""
    groups = [[UserCount(asked=asked, right=right) for right in group] for group in (public, fresh)]
    return compare_with_fresh(*groups, run_id="demo-fresh", noun="user")


def test_a_memory_that_is_much_better_on_public_users_knows_the_release() -> None:
    told = score_of([16] * 6, [3, 4, 5, 4, 6, 2])
    assert told.knows_release
    assert told.gap.value == 0.75
    assert "it knows the release" in told.sentence
    assert not score_of([12, 10, 14, 9, 13, 11], [11, 12, 9, 13, 10, 14]).knows_release


def test_with_fewer_than_six_fresh_users_there_is_a_point_no_interval_and_no_mark() -> None:
    told = score_of([16] * 20, [0] * 5)
    assert told.gap == Estimate(value=1.0, low=None, high=None)
    assert not told.knows_release
    assert "fewer than 6 users on a side do not show" in told.sentence


def test_of_honest_runs_one_in_twenty_at_most_is_marked() -> None:
    """Public and fresh users are drawn from the same people, of whom some are harder for the memory than others."""
    rng = np.random.default_rng(57)
    marked = 0
    for right, likeness in product((0.1, 0.5, 0.9, 0.98), (0.05, 0.2)):
        spread = 1 / likeness - 1
        for _ in range(40):
            users = rng.binomial(100, rng.beta(right * spread, (1 - right) * spread, size=26)).tolist()
            marked += score_of(users[:20], users[20:], asked=100).knows_release
    assert marked <= 0.05 * 8 * 40


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a release of six users; for copies."""

    def make(home: Path) -> None:
        counts = [f"--set={name}" for name in ("num_users=6", "num_questions=2", "num_periods=1")]
        status, told = amemgym_here(home, "generate", "demo", *counts)
        assert status == 0, told

    return make_once(tmp_path_factory, "released-to-six", make)


def evaluated(home: Path, *words: str) -> list[dict[str, Any]]:
    """The runs of the command, as it prints them as JSON."""
    status, told = amemgym_here(home, "evaluate", "demo", *QUICK, *words, "--quiet", "--json")
    assert status == 0, told
    return json.loads(told[told.index("{\n") : told.rindex("}") + 1])["runs"]


@dataclass(frozen=True)
class Scored:
    """A data folder with fresh users whose making was killed first, the runs on them, and the salts before and after."""

    home: Path
    runs: list[dict[str, Any]]
    salts: list[str]


NAMES = ("AnswersForItsUser", "LooksUpTexts")


@pytest.fixture(scope="module")
def scored(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Six fresh users, an honest memory and two that carry the release; to be read."""

    def make(place: Path) -> None:
        home = Path(shutil.copytree(released, place / "home"))
        begin_with_salt(home)
        words = ("evaluate", "demo", *QUICK, "--memory", "bm25", "--fresh", "6")
        kill(amemgym(home, *words), when=lambda: replies_of_fresh(home) >= 5)
        assert not list((home / "fresh").glob("*/releases/demo-fresh/*/manifest.json"))
        salt = salt_of_fresh(home)
        shutil.copy(CONTAMINATED, place / "memories.py")
        [data] = (home / "releases" / "demo").glob("*/demo/data.json")
        shutil.copy(data, place)
        memories = ["bm25", *(f"{place / 'memories.py'}:{name}" for name in NAMES)]
        runs = evaluated(home, *(word for memory in memories for word in ("--memory", memory)), "--fresh", "6")
        (place / "scored.json").write_text(json.dumps({"runs": runs, "salts": [salt, salt_of_fresh(home)]}), encoding="utf-8")

    place = make_once(tmp_path_factory, "fresh-users", make)
    return Scored(place / "home", **json.loads((place / "scored.json").read_text(encoding="utf-8")))


def begin_with_salt(home: Path) -> None:
    """Leave a recipe with a salt, as an earlier call would: one in twenty draws of persons may mark an honest memory."""
    with own_surroundings(home):
        users = fresh_users_of("demo", home=Home(home))
    recipe = users.root / "recipes" / f"{users.variant}.yaml"
    recipe.parent.mkdir(parents=True)
    fields = users.recipe_of(1, salt="5a17" * 8, budget=Budget())
    recipe.write_text(yaml.safe_dump(fields), encoding="utf-8")


def salt_of_fresh(home: Path) -> str:
    [recipe] = (home / "fresh").glob("*/recipes/demo-fresh.yaml")
    return yaml.safe_load(recipe.read_text(encoding="utf-8"))["salt"]


def test_memories_that_carry_the_release_leave_the_board_with_six_fresh_users_and_an_honest_one_stays(scored: Scored) -> None:
    gaps = {run["manifest"]["memory"]["name"]: run["fresh"]["gap"] for run in scored.runs}
    assert gaps["bm25"]["low"] <= 0
    assert [name for name in NAMES if gaps[name]["low"] <= 0] == [], gaps
    status, board = amemgym_here(scored.home, "compare", *(run["manifest"]["run_id"] for run in scored.runs))
    assert status == 0, board
    assert board.count("is off the board. On 6 users that nobody has seen") == len(NAMES)


def test_salt_and_persons_are_in_the_owners_folder_and_nowhere_else_and_their_calls_stand_in_the_ledger(
    scored: Scored, released: Path
) -> None:
    home = scored.home
    [own] = (home / "fresh").iterdir()
    assert (home / "fresh").stat().st_mode & 0o077 == 0
    [data] = own.glob("releases/demo-fresh/*/demo-fresh/data.json")
    fresh = {user["id"] for user in json.loads(data.read_text(encoding="utf-8"))}
    public = set(scored.runs[0]["manifest"]["users"])
    assert len(fresh) == 6
    assert not fresh & public
    # A spare of the release, who was not needed there, may be drawn again.
    spares = (released / "work.sqlite").read_bytes()
    secrets = [scored.salts[0].encode(), *(user.encode() for user in fresh if user.encode() not in spares)]
    assert len(secrets) > 1
    for path in home.rglob("*"):
        if path.is_file() and own not in path.parents:
            content = path.read_bytes()
            assert not any(secret in content for secret in secrets), path
    status, told = amemgym_here(home, "ledger", "--variant", "demo-fresh")
    assert status == 0, told
    assert "questions" in told


def test_edited_counts_of_fresh_users_from_which_all_else_follows_differ_from_the_run_on_these_users(
    scored: Scored, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(scored.home, tmp_path / "home"))
    honest = scored.runs[0]
    run_id = honest["manifest"]["run_id"]
    status, told = amemgym_here(home, "verify", run_id)
    assert status == 0, told
    told_before = FreshScore.model_validate(honest["fresh"])
    first, *others = told_before.users
    counts = [UserCount(asked=first.asked, right=0 if first.right else 1), *others]
    public = count_users(read_run(run_id, runs=home / "runs").answers, users=honest["manifest"]["users"])
    edited = compare_with_fresh(public, counts, run_id=told_before.run_id, noun=told_before.noun)
    (home / "runs" / run_id / "fresh.json").write_text(edited.model_dump_json(indent=2) + "\n", encoding="utf-8")
    status, told = amemgym_here(home, "verify", run_id)
    assert status == 1
    assert "fresh.json does not follow from the run on fresh users." in told
    assert "from its counts" not in told
    (home / "runs" / run_id / "fresh.json").unlink()
    assert "report.html tells of fresh users, and fresh.json is missing." in amemgym_here(home, "verify", run_id)[1]


def replies_of_fresh(home: Path) -> int:
    """How many replies their makers have had."""
    for store in (home / "fresh").glob("*/calls.sqlite"):
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as replies:
            return int(replies.execute("SELECT count(*) FROM replies").fetchone()[0])
    return 0


def test_after_a_kill_the_users_are_made_on_a_second_call_uses_the_same_and_asking_for_more_adds(
    scored: Scored, tmp_path: Path
) -> None:
    home = Path(shutil.copytree(scored.home, tmp_path / "home"))
    [same] = evaluated(home, "--memory", "bm25", "--fresh", "6")
    [more] = evaluated(home, "--memory", "bm25", "--fresh", "7")
    users = scored.runs[0]["fresh"]["users"]
    assert same["fresh"]["users"] == users == more["fresh"]["users"][:6]
    assert len(more["fresh"]["users"]) == 7
    assert len(list((home / "fresh").glob("*/releases/demo-fresh/*/manifest.json"))) == 2
    assert {*scored.salts, salt_of_fresh(home)} == {scored.salts[0]}


def refusal(demo_home: Path, **changes: dict[str, str]) -> str:
    """The sentence for a release whose manifest has these fields."""
    home = Home(demo_home)
    users = fresh_users_of("demo", home=home)
    users = replace(users, manifest=users.manifest.model_copy(update=changes))
    with open_models(home) as models, pytest.raises(EvaluationError) as refused:
        run(users.check_models(models))
    return str(refused.value)


def test_other_prompts_and_models_than_those_that_wrote_the_release_are_refused(demo_home: Path) -> None:
    with own_surroundings(demo_home):
        assert "with another prompt answers/draft than this version has" in refusal(
            demo_home, prompt_fingerprints={"answers/draft": "0" * 12}
        )
        older = f"{MODEL_FAMILY}-00000000"
        assert f"{older} wrote it, and this version has {model_name()}" in refusal(demo_home, models={"writer": older})
        assert "gpt-4.1 wrote it, and there is no endpoint" in refusal(demo_home, models={"writer": "gpt-4.1"})


def test_what_is_no_release_of_users_has_no_fresh_ones(demo_home: Path) -> None:
    with own_surroundings(demo_home), pytest.raises(EvaluationError, match="--fresh makes users by a release's recipe"):
        fresh_users_of("nothing", home=Home(demo_home))


def test_before_anything_is_paid_it_is_told_that_fewer_than_six_show_nothing(demo_home: Path) -> None:
    with own_surroundings(demo_home), open_models(Home(demo_home)) as models:
        two, terms = fresh_users_of("demo", home=Home(demo_home)), Terms(models.prices, 1, 1)
        six = replace(two, known=tuple(f"user-{number}" for number in range(6)))
        for users, count in ((six, 5), (two, 6)):
            assert "Fewer than 6 users on a side will not show" in users.plan(count, terms=terms)
        assert "will not show" not in six.plan(6, terms=terms)
