"""A memory gains nothing outside the contract: by files, by the interpreter, by the runner's code, by texts, or afterwards."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assets.amemgym.records.episode import Episode
from assets.isolation.boundary import available_kind
from assets.records.estimate import Estimate
from assets.text.words import count_tokens
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.evaluation.folder import PAGE, FinishedRun, read_run
from pipelines.evaluation.report.formatting import repeat_label
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.verifying.verdict import read_judged_run, verify_run
from pipelines.experiments.scoring.board_tables import leaderboard_table
from pipelines.experiments.scoring.published import baseline_score, not_here, published_problems
from pipelines.memories.built_in.plain import FullHistory
from pipelines.memories.contract import MemorySpec
from pipelines.memories.hosting.confinement import Confinement
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import SETTINGS, HonestModel, episode, finish, run_of, tasks
from tests.evaluation.test_memories import recalled_anew

pytestmark = pytest.mark.slow  # each memory has a process
FILE = Path(__file__).with_name("cheating_memories.py")
KEYS = "ada q1: option 2"
needs_a_boundary = pytest.mark.skipif(available_kind() == "none", reason="this machine gives no boundary")


def cheat(name: str, file: Path = FILE, **settings: str) -> MemorySpec:
    return find_memory(f"{file}:{name}").model_copy(update={"settings": settings})


def scored(folder: Path, spec: MemorySpec) -> FinishedRun:
    """A run of the memory on one user."""
    return finish(run_of(folder, HonestModel(), data=tasks("ada"), spec=spec, conditions=()))


@needs_a_boundary
def test_keys_cannot_be_read_by_their_path_be_they_in_the_data_folder_beside_the_memory_or_elsewhere(tmp_path: Path) -> None:
    own = tmp_path / "mine" / "cheating.py"
    places = [tmp_path / "home" / "release.json", own.parent / "data" / "release.json", own.with_name(".env")]
    for path in (own, *places):
        path.parent.mkdir(exist_ok=True)
        path.write_text(KEYS, encoding="utf-8")
    own.write_text(FILE.read_text(encoding="utf-8"), encoding="utf-8")
    hidden = Confinement(hidden=(own.parent / "data",))

    assert [recalled_anew(cheat("ReadsTheRelease", own, path=str(path)), given=hidden) for path in places] == [[], [], []]
    assert recalled_anew(cheat("ReadsTheRelease", own, path=str(own)), given=hidden) != [], "its own files stay"


def test_keys_cannot_be_read_from_the_interpreter(tmp_path: Path) -> None:
    finished = scored(tmp_path, cheat("SearchesTheInterpreter"))
    assert not any(row.memories for row in finished.answers)


def test_the_grader_cannot_be_replaced(tmp_path: Path) -> None:
    finished = scored(tmp_path, cheat("ReplacesTheGrader"))
    honest = scored(tmp_path, MemorySpec(name="none", kind="none"))
    assert finished.results.metrics["overall"] == honest.results.metrics["overall"]


@pytest.mark.parametrize("in_process", [False, True])
def test_a_class_of_texts_defeats_no_budget(in_process: bool) -> None:
    texts = recalled_anew(cheat("DefeatsTheBudget"), tokens=10, given=Confinement(in_process))
    assert [type(text) for text in texts] == [str]
    assert sum(map(count_tokens, texts)) == 10


@pytest.fixture
def unspoiled() -> Iterator[None]:
    """What a memory of others did to ours in this process is undone."""
    before = FullHistory.recall
    yield
    FullHistory.recall = before


@pytest.mark.usefixtures("unspoiled")
def test_another_memory_cannot_be_spoiled(tmp_path: Path) -> None:
    scored(tmp_path, cheat("SpoilsAnotherMemory"))
    assert scored(tmp_path, MemorySpec(name="full-history", kind="full-history")).results.metrics["overall"].value == 1


def test_a_run_says_which_boundary_kept_its_memory_in_and_one_without_is_marked(tmp_path: Path) -> None:
    kept = scored(tmp_path, cheat("Cheat"))
    work = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=cheat("Cheat"), conditions=(), in_process=True)
    free = finish(replace(work, confinement=Confinement(in_process=True)))

    assert kept.manifest.boundary == ("process" if available_kind() == "none" else available_kind())
    assert free.manifest.boundary == "in-process"
    assert free.manifest.run_id != kept.manifest.run_id
    assert "could read the answers" in run_report(free)
    assert "could read the answers" not in run_report(kept)
    assert "Cheat (in-process)" in leaderboard_table([kept, free])


def test_a_run_as_it_was_made_is_verified_and_keeps_its_code(tmp_path: Path) -> None:
    finished = scored(tmp_path, cheat("Cheat"))
    folder = tmp_path / finished.manifest.run_id
    verdict = verify_run(read_run(str(folder), runs=tmp_path), folder, tasks("ada"))

    assert verdict.problems == ()
    assert verdict.graded == len(finished.answers)
    judged = read_judged_run(str(folder), runs=tmp_path)
    assert (judged.problems, judged.unverified) == ((), verdict.unverified)
    assert (folder / "code" / FILE.name).read_text(encoding="utf-8") == FILE.read_text(encoding="utf-8")


def test_numbers_on_a_page_that_do_not_follow_from_the_rows_fail_verification(tmp_path: Path) -> None:
    finished = scored(tmp_path, MemorySpec(name="none", kind="none"))
    folder = tmp_path / finished.manifest.run_id
    page = folder / PAGE
    text = page.read_text(encoding="utf-8")
    shown = re.search(r'"overall":\{"value":(0\.\d+)', text)
    assert shown is not None
    page.write_text(text.replace(shown[0], '"overall":{"value":0.987'), encoding="utf-8")
    verdict = verify_run(finished, folder, tasks("ada"))
    assert verdict.problems == (f"{PAGE} does not show the results.",)
    assert any("tokens and money" in what for what in verdict.taken_as_told)


def test_a_published_score_follows_from_a_run_or_is_named_as_one_that_cannot_be_recomputed(tmp_path: Path) -> None:
    made = scored(tmp_path, MemorySpec(name="none", kind="none"))
    digest = made.manifest.dataset_digest
    own = baseline_score(made)
    better = own.model_copy(update={"accuracy": Estimate(value=0.9, low=0.8, high=1.0)})
    foreign = own.model_copy(update={"assistant": "theirs"})

    assert list(published_problems([own, foreign], digest=digest, runs=[made])) == []
    assert not_here([own, foreign], digest=digest, runs=[made]) == ["theirs with test-model"]
    [told] = published_problems([better], digest=digest, runs=[made])
    assert "does not follow from the rows of" in told


@pytest.mark.parametrize(
    ("places", "boundary", "words"),
    [
        ((), "", "can be pinned"),
        (('http://127.0.0.1:8080/v1 {"meta":1}',), "", "can be pinned"),
        (("http://localhost:8080/v1",), "", "depends on what serves its models"),
        (("https://api.example.com/v1",), "", "depends on a hosted model at https://api.example.com/v1"),
        ((), "service", "depends on the service that is its memory"),
    ],
)
def test_a_run_says_what_its_repetition_depends_on(places: tuple[str, ...], boundary: str, words: str, tmp_path: Path) -> None:
    manifest = run_of(tmp_path, HonestModel()).manifest
    assert words in repeat_label(manifest.model_copy(update={"places": places, "boundary": boundary}))


def users_in_pairs(pairs: int) -> AMemGymTasks:
    """Ada, and Ben with values of his own in place of two of hers; more such pairs."""
    episodes: list[Episode] = []
    for hers, his in (("ada", "ben"), ("cem", "dan"), ("eva", "fay"))[:pairs]:
        text = episode(his).model_dump_json().replace("vegetarian", "pescetarian").replace("Tue | Thu", "Mon | Fri")
        episodes += [episode(hers), Episode.model_validate_json(text)]
    return AMemGymTasks(AMemGymDataset("rehearsal", "e" * 64, tuple(episodes), SETTINGS))


def run_on_six(folder: Path, spec: MemorySpec) -> FinishedRun:
    return finish(run_of(folder, HonestModel(), data=users_in_pairs(3), spec=spec, conditions=("none",), baselines=False))


def test_a_memory_that_knows_answers_it_was_never_told_fails_the_permutation_control_and_leaves_the_board(
    tmp_path: Path,
) -> None:
    knowing = run_on_six(tmp_path, cheat("KnowsTheKeys"))
    honest = run_on_six(tmp_path, MemorySpec(name="full-history", kind="full-history"))
    assert knowing.results.control is not None
    assert honest.results.control is not None
    board = leaderboard_table([knowing, honest])

    assert not knowing.results.control.passed
    assert honest.results.control.passed
    assert honest.results.metrics["overall"].value == 1
    assert "so it knows answers that it was never told" in run_report(knowing)
    assert f"{knowing.manifest.run_id} is off the board. Permutation control" in board
    assert [line.split(" | ")[0] for line in board.splitlines()[2:4]] == ["| A", "| off"]
