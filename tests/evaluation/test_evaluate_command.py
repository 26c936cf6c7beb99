"""`amemgym evaluate` and `amemgym compare`, on the embedded model, with a data.json and with problems."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assets.llm.ports import EndpointError
from assets.recipe.recipe import Recipe
from assets.reporting.intervals import Tallies, share
from dataset_card.amemgym.reference.data_json import data_json
from dataset_card.amemgym.reference.settings import DataSettings, settings_bytes, settings_path
from dataset_card.release.manifest import RECIPE
from dataset_card.release_store.folder import write_release
from pipelines import home
from pipelines.cli.main import app
from pipelines.errors import EvaluationError, Problem, sentence_of, user_errors
from pipelines.evaluation.amemgym.tasks import open_amemgym
from pipelines.evaluation.command import refuse
from pipelines.evaluation.folder import RESULTS, read_run, read_table, write_table
from pipelines.evaluation.records import AnswerRow
from pipelines.evaluation.sources import release_recipe
from pipelines.evaluation.verifying import by_hand
from pipelines.home import Home
from pipelines.resources.storage.open_stores import open_release_store
from tests.dataset_card.reference.foreign_data import write_foreign_data
from tests.evaluation.scripted_evaluation import episode
from tests.support import releases, scenario
from tests.support.commands import amemgym_here, priced_embedded_model


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data.json of two users, and a data folder of its own without any endpoint."""
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    path = tmp_path / "data.json"
    path.write_bytes(data_json([episode("ada"), episode("ben")]))
    return path


@pytest.fixture(scope="module")
def evaluated_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data.json and a data folder in which two memories were evaluated on it; for reading."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "data.json").write_bytes(data_json([episode("ada"), episode("ben")]))
    words = ("evaluate", str(folder / "data.json"), "--memory", "full-history", "--memory", "awi")
    status, output = amemgym_here(folder / "home", *words)
    assert status == 0, output
    return folder


@pytest.fixture
def evaluated(data: Path, evaluated_once: Path) -> Path:
    """The same as `data`, with the runs of `full-history` and `awi`."""
    shutil.copytree(evaluated_once / "home", data.parent / "home")
    return data


def output_of(*arguments: object) -> str:
    """The output of the command, which must succeed."""
    found = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert found.exit_code == 0
    return found.output


def cells(board: str) -> list[tuple[str, str]]:
    """Each line's memory system and mode in a leaderboard's table."""
    found = re.findall(
        r"^ *(?:[A-Z]+|off|-)? +(\S.*?) {2,}((?:on-policy|off-policy|baseline).*?)(?: {2,}.*)?$", board, re.MULTILINE
    )
    return list(dict.fromkeys(found))


def test_a_data_json_is_evaluated_reported_and_compared(evaluated: Path) -> None:
    report = output_of("evaluate", evaluated, "--memory", "full-history", "--users", 2, "--full")
    board = output_of("evaluate", evaluated, "--memory", "full-history", "--memory", "awi", "--full")
    runs = sorted(path.name for path in (evaluated.parent / "home" / "runs").glob("data.json-*"))
    compared = output_of("compare", *runs)

    assert "By period" in report.splitlines()
    assert ("awi", "on-policy") in cells(board)
    assert not any(line.startswith("|") for line in (*report.splitlines(), *board.splitlines(), *compared.splitlines()))
    assert len(runs) == 2
    assert "minus" in compared
    with pytest.raises(Problem, match="is named twice; name two different runs"):
        CliRunner().invoke(app, ["compare", runs[0], runs[0]], catch_exceptions=False)


@pytest.mark.parametrize("name", ["answers.parquet", "manifest.json", "report.html", "results.json"])
def test_a_run_with_a_damaged_file_is_made_again_from_stored_replies_and_that_is_told(evaluated: Path, name: str) -> None:
    runs = evaluated.parent / "home" / "runs"
    [folder] = runs.glob("data.json-full-history-*")
    before = read_run(folder.name, runs=runs)
    cut = (folder / name).read_bytes()[:-30]
    (folder / name).write_bytes(cut)
    output = " ".join(output_of("evaluate", evaluated, "--memory", "full-history", "--offline").split())
    assert f"{folder.name} was damaged: {name} " in output
    assert (folder / f"{name}.damaged-1").read_bytes() == cut
    after = read_run(folder.name, runs=runs)
    assert (after.manifest, after.answers, after.results) == (before.manifest, before.answers, before.results)
    assert "was damaged" not in output_of("evaluate", evaluated, "--memory", "full-history", "--offline")


def test_a_run_whose_answers_were_edited_is_shown_again_with_a_sentence_and_off_the_board(evaluated: Path) -> None:
    [folder] = (evaluated.parent / "home" / "runs").glob("data.json-full-history-*")
    first, *others = read_table(folder / "answers.parquet", kind=AnswerRow)
    edited = first.model_copy(update={"status": "wrong" if first.status == "right" else "right"})
    write_table(folder / "answers.parquet", [edited, *others], kind=AnswerRow)
    output = " ".join(output_of("evaluate", evaluated, "--memory", "full-history", "--offline").split())
    assert f"The scores of {folder.name} cannot be believed: results.json does not follow from the rows" in output
    assert f"{folder.name} is off the board" in output
    shutil.rmtree(folder)
    assert "cannot be believed" not in output_of("evaluate", evaluated, "--memory", "full-history", "--offline")
    assert "off the board" not in output_of("evaluate", evaluated, "--memory", "full-history", "--offline")


def test_the_size_of_the_run_is_told_before_its_first_call(data: Path) -> None:
    with pytest.raises(EndpointError, match="reply cache has no reply"):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", "full-history", "--offline"], catch_exceptions=False)
    manifests = list((data.parent / "home" / "runs").glob("*/manifest.json"))

    assert len(manifests) == 1


def test_an_embedding_model_is_named_only_for_a_memory_that_may_ask_it(data: Path) -> None:
    plans = {kind: output_of("evaluate", data, "--memory", kind, "--plan") for kind in ("awi", "rag-2-4-30")}

    assert ["embedding amemgym" in plan.replace("\n", " ") for plan in plans.values()] == [False, True]
    assert all("Asks the embedded model in this process" in plan.replace("\n", " ") for plan in plans.values())


@pytest.mark.parametrize(
    ("arguments", "role"),
    [
        (["none", "--model", "gpt-4.1"], "assistant"),
        (["bm25?model=gpt-4.1"], "memory"),
        (["bm25", "--set", "more_models=gpt-4.1"], "memory"),
    ],
)
def test_a_plan_prices_a_model_before_there_is_an_endpoint_and_a_run_is_refused(
    arguments: list[str], role: str, data: Path
) -> None:
    assert "an endpoint that is not set yet" in " ".join(output_of("evaluate", data, "--memory", *arguments, "--plan").split())
    sentence = rf"does not know the model 'gpt-4\.1' of the {role}; set OPENAI_API_KEY, or AMEMGYM_BASE_URL"
    with pytest.raises(EvaluationError, match=sentence):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", *arguments], catch_exceptions=False)


def test_a_plan_without_an_endpoint_has_the_price_of_the_models_name(data: Path) -> None:
    told = output_of("evaluate", data, "--memory", "rag-2-4-30", "--model", "gpt-4.1-mini", "--plan")
    price = re.search(r"\$(\d+\.\d+)", told)
    assert price
    assert float(price[1]) > 0
    assert "embedding text-embedding-3-small" in " ".join(told.split())


def test_dialogues_of_one_run_are_replayed_into_another_assistant(evaluated: Path) -> None:
    led = next((evaluated.parent / "home" / "runs").glob("data.json-full-history-*")).name

    assert "off-policy" in output_of("evaluate", evaluated, "--memory", "rag-2-4-30", "--set", f"replay={led}")


def test_the_beginning_of_an_id_names_a_run_for_the_rows_of_reward_models_too(evaluated: Path) -> None:
    run = next((evaluated.parent / "home" / "runs").glob("data.json-full-history-*")).name

    output_of("memory", "rows", run[:-3], "--out", evaluated.parent / "rows.parquet")
    assert (evaluated.parent / "rows.parquet").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["memory", "rows", "lost", "--out", "rows.parquet"], "names no run"),
        (["memory", "rows", "lost", "--out", "rows.csv"], "rows.csv does not end in .parquet"),
        (["evaluate", "nowhere", "--memory", "full-history"], "neither a release folder nor a variant with a release"),
        (["evaluate", "DATA", "--memory", "brain"], "no memory 'brain'. The memories are: none, "),
        (["evaluate", "DATA", "--memory", "mine.py"], "'mine.py' names no class; .*as in mine.py:MyMemory"),
        (["evaluate", "DATA", "--memory", "mine.py:"], "'mine.py:' names no class; .*as in mine.py:MyMemory"),
        (["evaluate", "DATA", "--memory", "full-history", "--users", "3"], "has 2 users"),
        (["evaluate", "DATA", "--memory", "full-history", "--set", "replay=lost"], "names no run"),
        (["compare", "one"], "two or more runs"),
    ],
)
def test_a_problem_is_one_sentence_before_the_first_call(data: Path, arguments: list[str], words: str) -> None:
    given = [str(data) if argument == "DATA" else argument for argument in arguments]

    with pytest.raises(Problem, match=words):
        CliRunner().invoke(app, given, catch_exceptions=False)
    assert not (data.parent / "home" / "runs").exists()


def test_a_disk_that_is_nearly_full_is_refused_before_the_first_call(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "LEAST_FREE", 10**18)
    with pytest.raises(EvaluationError, match=r"has \d+ MB left, and a run needs"):
        output_of("evaluate", data, "--memory", "bm25", "--set", "seed=77")


def test_a_model_that_needs_a_key_is_not_looked_for_in_the_recipe_where_none_is_set(data: Path) -> None:
    with pytest.raises(user_errors(), match=r"does not know the model 'gpt-4\.1'.* set OPENAI_API_KEY, or AMEMGYM_BASE_URL"):
        output_of("evaluate", data, "--memory", "full-history", "--model", "gpt-4.1")


def test_a_memory_that_is_named_twice_is_evaluated_once(data: Path) -> None:
    told = output_of("evaluate", data, "--memory", "none", "--memory", "none")
    assert told.count("Page: ") == 1


def test_all_memories_are_held_to_the_contract_before_the_first_is_asked_anything(data: Path) -> None:
    bad = Path(__file__).with_name("bad_memories.py")
    named = [f"{bad}:{name}" for name in ("Plain", "SharesItsLines", "RemembersQuestions")]

    with pytest.raises(Problem, match=r"(?s)'SharesItsLines' .*'RemembersQuestions' .*Nothing was asked yet"):
        output_of("evaluate", data, *(word for name in named for word in ("--memory", name)))
    assert not (data.parent / "home" / "runs").exists()


def test_every_refused_memory_is_named_before_its_neighbours_are_asked_and_leaves_no_folder(data: Path) -> None:
    lacking = data.with_name("lacking.py")
    lacking.write_text("import a_package_that_nobody_has\n", encoding="utf-8")
    refused = ("bm25?topk=few", f"{lacking}:Mine", "nowhere")
    every = r"'bm25\?topk=few' .*lacking\.py .*no memory 'nowhere'.*Nothing was asked yet"

    with pytest.raises(EvaluationError, match=every):
        output_of("evaluate", data, *(word for name in ("none", *refused) for word in ("--memory", name)))
    for name in refused:
        with pytest.raises(EvaluationError):
            output_of("evaluate", data, "--memory", name)
    assert not (data.parent / "home" / "runs").exists()


# Knows the check before a run by its boat, and fails whatever else it is asked.
PASSES_THE_CHECK_ALONE = """
class Mine:
    def __init__(self):
        self.texts = []

    def write(self, events):
        self.texts += [event.text for event in events]

    def recall(self, query, tokens):
        if "boat" not in query:
            raise ValueError("no such boat")
        return [text for text in self.texts if "boat" in text]
"""


def test_verify_says_first_that_a_run_is_not_finished(data: Path) -> None:
    failing = data.with_name("failing.py")
    failing.write_text(PASSES_THE_CHECK_ALONE, encoding="utf-8")
    status, _ = amemgym_here(data.parent / "home", "evaluate", str(data), "--memory", f"{failing}:Mine")
    [folder] = (data.parent / "home" / "runs").glob("*-Mine-*")
    with_errors, told = amemgym_here(data.parent / "home", "verify", folder.name, "--data", str(data))
    (folder / RESULTS).unlink()
    stopped, sentence = amemgym_here(data.parent / "home", "verify", folder.name)

    assert (status, with_errors, stopped) == (1, 1, 1)
    assert told.startswith(f"{folder.name} is not finished: 2 users could not be evaluated to the end")
    assert "was changed" not in told
    assert sentence.startswith(f"amemgym: The run {folder.name} is not finished; give the same evaluate command again")


def test_a_sentence_that_asks_gets_no_full_stop() -> None:
    with pytest.raises(EvaluationError, match=r"called\? It broke\. Nothing was asked yet"):
        refuse(["What is it called?", "It broke"])


def test_a_board_that_cannot_be_written_is_one_sentence(evaluated: Path) -> None:
    shutil.rmtree(evaluated.parent / "home" / "boards")
    (evaluated.parent / "home" / "boards").write_text("no folder", encoding="utf-8")

    with pytest.raises(OSError, match="boards") as caught:
        output_of("evaluate", evaluated, "--memory", "full-history", "--memory", "awi")
    assert "mend that and run the command again" in sentence_of(caught.value)


def test_what_of_a_data_json_cannot_be_used_is_told_with_its_place(data: Path) -> None:
    items = json.loads(data.read_bytes())
    items[1]["qas"][0]["required_info"] = ["mood"]
    data.write_text(json.dumps(items), encoding="utf-8")

    # The other user's question is asked, or this user's others.
    assert "cannot be used and is left out: ben" in output_of("evaluate", data, "--memory", "full-history").replace("\n", " ")
    data.write_text(json.dumps([{**items[0], "periods": []}]), encoding="utf-8")
    with pytest.raises(Problem, match=r"data\.json holds no user who can be used\. 1 of 1 user .* ada: periods"):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", "full-history"], catch_exceptions=False)


def test_rounds_and_language_of_a_bare_file_are_told_set_and_taken_from_the_file_beside_it(data: Path) -> None:
    store = open_release_store(Home(data.parent / "home"))
    bare = open_amemgym(str(data), release_store=store).dataset
    assert bare.notices[0].startswith("data.json does not say rounds, language and dates; those of the paper's base are taken")

    beside = DataSettings(language="ru", num_rounds_initial=3, num_rounds_update=4)
    Path(settings_path(str(data))).write_bytes(settings_bytes(beside))
    kept = open_amemgym(str(data), release_store=store).dataset
    given = open_amemgym(str(data), release_store=store, settings={"language": "ja"}).dataset
    assert kept.settings == beside
    assert given.settings == DataSettings(language="ja", num_rounds_initial=3, num_rounds_update=4)
    assert "By data.settings.json beside it" in kept.notices[0]
    with pytest.raises(Problem, match=r"data\.json cannot be used: num_rounds_update cannot be set to that"):
        output_of("evaluate", data, "--memory", "full-history", "--set", "num_rounds_update=none")


def test_a_release_and_its_own_data_json_are_the_same_data_set(tmp_path: Path) -> None:
    release = write_release(
        releases.content(recipe=scenario.recipe(num_users=2, language="de", num_rounds_update=3)), root=tmp_path
    )
    store = open_release_store(Home(tmp_path))
    whole = open_amemgym(str(release.folder), release_store=store).dataset
    bare = open_amemgym(str(release.folder / "demo" / "data.json"), release_store=store).dataset
    assert (bare.episodes, bare.settings) == (whole.episodes, whole.settings)
    with pytest.raises(EvaluationError, match="has its own language"):
        open_amemgym(str(release.folder), release_store=store, settings={"language": "en"})


def test_users_of_anybody_s_file_are_evaluated_to_the_end(data: Path) -> None:
    write_foreign_data(data)
    report = output_of("evaluate", data, "--memory", "full-history", "--users", 2, "--set", "num_rounds_update=1")
    assert "overall" in report
    assert "Given here: num_rounds_update." in report.replace("\n", " ")


def test_the_runner_knows_nothing_of_dagster_and_imports_no_client_before_a_call() -> None:
    code = "import sys, pipelines.cli.scoring.evaluate; sys.exit(not {'dagster', 'openai'}.isdisjoint(sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_a_leaderboard_ranks_all_runs_and_an_off_policy_run_shows_what_it_changes(evaluated: Path) -> None:
    home = evaluated.parent / "home"
    led = next((home / "runs").glob("data.json-full-history-*")).name
    output_of("evaluate", evaluated, "--memory", "full-history", "--memory", "awi", "--set", f"replay={led}")
    runs = sorted(path.name for path in (home / "runs").glob("data.json-*"))
    compared = output_of("compare", *runs)
    board = output_of("leaderboard", "--dataset", "data.json")

    assert re.search(r"minus \S+, o(n|ff)-policy", compared)
    assert [name for name, mode in cells(board) if mode == "baseline"][-1] == "random"
    assert sorted(mode.split()[0] for _, mode in cells(board) if mode != "baseline") == ["off-policy"] * 2 + ["on-policy"] * 2
    # The board of the first two, of the two off-policy, and of all four by either command.
    assert len(list((home / "boards").glob("*.html"))) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--set", "max_tokens=500"], r"max_tokens .*these are --max-cost and --set max_tokens=NUMBER"),
        (["--max-cost", "0"], "A budget must be a finite number above 0, not 0"),
    ],
)
def test_a_budget_pauses_a_run_with_a_sentence_that_names_the_options(
    data: Path, words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_PRICES", str(priced_embedded_model(data.parent)))
    with pytest.raises(Problem, match=sentence):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", "full-history", *words], catch_exceptions=False)


def json_of(*arguments: object) -> Any:
    """What the command prints on standard output, which must be JSON and nothing else."""
    found = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert found.exit_code == 0
    return json.loads(found.stdout)


def test_a_plan_of_two_memories_counts_what_they_share_once(data: Path) -> None:
    plan = json_of("evaluate", data, "--memory", "awi", "--memory", "full-history", "--plan")
    first, second = (run["by_purpose"]["baselines"]["calls"] for run in plan["runs"])

    assert first > 0 == second


def test_runs_plans_comparisons_and_leaderboards_are_json_where_that_is_asked(evaluated: Path) -> None:
    memories = ("--memory", "full-history", "--memory", "awi")
    plan = json_of("evaluate", evaluated, *memories, "--plan")
    made = json_of("evaluate", evaluated, *memories, "--quiet")
    ids = [run["manifest"]["run_id"] for run in made["runs"]]
    compared, (board,) = json_of("compare", *ids), json_of("leaderboard")

    assert [run["manifest"]["run_id"] for run in plan["runs"]] == ids
    assert plan["runs"][0]["calls"] > 0
    assert made["runs"][0]["results"]["metrics"]["overall"]["value"] is not None
    assert all(Path(page).is_file() for page in (made["page"], made["runs"][0]["page"], compared["page"], board["page"]))
    assert compared["pairs"][0]["differences"][0]["metric"] == "overall"
    assert sorted(run["manifest"]["run_id"] for run in board["runs"]) == sorted(ids)


def test_runs_of_another_version_are_left_out_of_a_leaderboard_and_counted(evaluated: Path) -> None:
    old = next((evaluated.parent / "home" / "runs").glob("data.json-awi-*"))
    manifest = json.loads((old / "manifest.json").read_bytes())
    (old / "manifest.json").write_text(json.dumps({**manifest, "format": 0}), encoding="utf-8")
    told = output_of("leaderboard")
    assert ("full-history (unverified)", "on-policy") in cells(told)
    assert not any(name.startswith("awi") for name, _ in cells(told))
    assert "1 run is left out, of another version of this program or damaged; give the same evaluate command again" in told
    assert told.count(old.name) == 1
    output_of("evaluate", evaluated, "--memory", "awi", "--offline")
    assert "left out" not in output_of("leaderboard")


def test_a_sample_that_is_asked_again_is_the_same_byte_by_byte_unless_somebody_edited_a_text(evaluated: Path) -> None:
    for memory in ("full-history", "awi"):
        [folder] = (evaluated.parent / "home" / "runs").glob(f"data.json-{memory}-*")
        told = output_of("verify", folder, "--data", evaluated, "--again", "30").replace("\n", " ")
        assert re.search(r"Asked again without the cache: \d+ answers of 1 user, .* All are the same, byte by byte\.", told)
    rows = read_table(folder / "answers.parquet", kind=AnswerRow)
    edited = [row.model_copy(update={"memories": tuple(f"{text} Indeed." for text in row.memories)}) for row in rows]
    write_table(folder / "answers.parquet", edited, kind=AnswerRow)
    with pytest.raises(Problem, match="was changed after it was made"):
        output_of("verify", folder, "--data", evaluated, "--again", "100")
    problems = json.loads((folder / "verification.json").read_bytes())["problems"]
    assert any("it is another when it is asked again (question " in problem for problem in problems)


def test_headline_numbers_are_the_same_by_a_file_that_imports_nothing_of_this_project(evaluated: Path) -> None:
    [folder] = (evaluated.parent / "home" / "runs").glob("data.json-full-history-*")
    command = [sys.executable, "-I", by_hand.__file__, str(folder), str(evaluated)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    results = json.loads((folder / "results.json").read_bytes())
    assert (done.returncode, done.stderr) == (0, "")
    assert f"overall: {results['metrics']['overall']['value']}\n" in done.stdout
    assert f"right with none: {results['isolated']['none']['value']}\n" in done.stdout

    results["metrics"]["overall"]["value"] = 0.99
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "and not 0.99 as in results.json" in told.stdout


@pytest.mark.parametrize("right", [(1, 4, 2, 5, 3, 3, 4), (0, 0, 0, 0, 0, 0), (6, 6, 6, 6, 6, 6, 6, 6)])
def test_the_interval_of_that_file_is_the_projects_own(right: tuple[int, ...]) -> None:
    users = {f"u{number}": {"right": float(own), "asked": 6.0} for number, own in enumerate(right)}
    counts = by_hand.Counts([], {})
    for user, own in users.items():
        counts.right[user] = int(own["right"])
        counts.asked[user] = int(own["asked"])
    estimate = Tallies.of(users, names=("right", "asked")).estimate(share("right", "asked"))
    assert (counts.share, counts.interval()) == (estimate.value, (estimate.low, estimate.high))


def test_a_leaderboard_of_nothing_says_so(data: Path) -> None:
    with pytest.raises(Problem, match="no finished run"):
        output_of("leaderboard")


@pytest.mark.parametrize(
    ("text", "reason"), [("[" * 5000, "nests YAML deeper"), ("[]", "must map field names to values"), ("a: &a [*a]", "alias")]
)
def test_a_release_whose_recipe_was_spoiled_is_refused_in_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / RECIPE).write_text(text, encoding="utf-8")
    with pytest.raises(EvaluationError, match=rf"cannot be used: recipe\.yaml cannot be read: .*{reason}"):
        release_recipe(tmp_path, Recipe)


def test_scores_are_one_table_of_eighty_columns_and_full_prints_the_others(evaluated: Path) -> None:
    memories = ("--memory", "full-history", "--memory", "awi")
    told = output_of("evaluate", evaluated, *memories)
    whole = output_of("evaluate", evaluated, *memories, "--full")
    table = [line for line in told.splitlines() if re.match(r"(group|[A-Z]+) ", line)]

    assert [line.split()[:3] for line in table[:1]] == [["group", "memory", "system"]]
    assert max(map(len, table)) <= 80
    assert told.count("Asks the embedded model in this process. Models: ") == 1
    assert ("Isolated scores" in told, "Isolated scores" in whole) == (False, True)


def test_json_leaves_the_warnings_to_standard_error(data: Path) -> None:
    memory = "window-2k?most_tokens=1"
    # The embedded model reads no name with braces, which would spoil a call for all states.
    words = ("evaluate", str(data), "--users", "1", "--memory", memory, "--set", "probes=question", "--json")
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    assert found.exit_code == 0
    assert len(json.loads(found.stdout)["runs"]) == 1
    assert "gave back nothing for any of" in found.stderr
