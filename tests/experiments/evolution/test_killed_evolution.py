"""A real `amemgym evolve` killed after a policy has changed: the same command goes on with that policy and ends the same."""

from pathlib import Path

from typer.testing import CliRunner

from dataset_card.amemgym.reference.data_json import data_json
from pipelines.cli.main import app
from tests.evaluation.scripted_evaluation import episode
from tests.evaluation.test_killed_run import CALLS_MADE_TWICE, SERVED, asked
from tests.pipelines.chained import IN_FLIGHT, endpoint
from tests.support.commands import amemgym, kill, own_surroundings

USERS = ("ada", "ben")
POLICIES = "SELECT count(*) FROM steps WHERE key LIKE '%/policy'"


def finished(home: Path, words: tuple[str, ...], surroundings: dict[str, str]) -> dict[str, bytes]:
    """Run it to its end, in this process; the evolution's files."""
    with own_surroundings(home, **surroundings):
        CliRunner().invoke(app, words, catch_exceptions=False)
    [folder] = (home / "evolutions").iterdir()
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def policies(home: Path) -> int:
    """How many policies have been made and kept so far."""
    return sum(asked(store, POLICIES) for store in (home / "evolutions").glob("*/steps.sqlite"))


def test_a_killed_evolution_goes_on_with_its_policies_and_a_replay_needs_no_model(tmp_path: Path) -> None:
    data, home = tmp_path / "data.json", tmp_path / "killed"
    data.write_bytes(data_json([episode(name) for name in USERS]))
    with endpoint() as there:
        words = ("evolve", str(data), "--feedback", "complete", *SERVED)
        whole = finished(tmp_path / "whole", words, there.surroundings)

        there.app.enough = lambda: policies(home) >= 2
        kill(amemgym(home, *words, **there.surroundings), when=there.app.enough)
        there.app.enough = lambda: False
        assert not list((home / "evolutions").glob("*/results.json"))

        assert finished(home, words, there.surroundings) == whole
        assert asked(home / "ledger.sqlite", CALLS_MADE_TWICE) <= IN_FLIGHT

        for folder in (home / "evolutions").iterdir():
            folder.rename(tmp_path / "kept")
        assert finished(home, (*words, "--offline"), there.surroundings) == whole
