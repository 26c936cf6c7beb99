"""The snippets of the card on the Hub run as they stand there, against a Hub server, far from any release folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dataset_card.hub.port import Hub
from tests.support.commands import clean_environment, run_in_turn
from tests.support.hub_server.releases import a_release, held_files, published
from tests.support.hub_server.state import FakeHub
from tests.support.waiting import LONG

PROJECT = Path(__file__).parents[3]
SHOW = "print(len(episodes), len(questions), sorted(questions['question_id'])[0])"


def snippets(text: str, language: str) -> list[str]:
    section = text.partition("## Loading it")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def card(fake: FakeHub, hub: Hub, repo: str) -> str:
    """The card at the top of a public repository with two variants, of which somebody reads the first."""
    for variant in ("base", "extra"):
        published(hub, a_release(variant=variant), repo=repo, visibility="public", embedded=True)
    return held_files(fake, repo)["README.md"].decode()


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of somebody who has nothing but the package, in an empty folder."""
    patience = dict.fromkeys(("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"), f"{LONG:.0f}")
    places = {"PYTHONPATH": str(PROJECT), "HF_HOME": str(folder / "hf"), "HF_ENDPOINT": os.environ["HF_ENDPOINT"]}
    return clean_environment(folder, **places, **patience)


def test_python_snippets_run_one_after_another(card: str, repo: str, tmp_path: Path) -> None:
    by_name, other_by_name, files, pandas, duckdb, polars = snippets(card, "python")
    assert f'load_dataset("{repo}", "base", split="test", revision="base-v0.1.0")' in by_name
    # Polars is no dependency of this project; it reads the very file that pandas reads.
    assert re.findall(r"f\"(.*)\"\)", polars) == re.findall(r"f\"(.*)\"\)", pandas)[1:]
    program = "\n".join([other_by_name, SHOW, by_name, SHOW, files, pandas, SHOW, duckdb])
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, cwd=tmp_path, env=surroundings(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["2 4 q01"] * 3
    assert "What should I cook" in done.stdout


def test_commands_fetch_verify_and_evaluate(card: str, repo: str, tmp_path: Path) -> None:
    lines = [line.split() for line in snippets(card, "bash")[0].splitlines()]
    assert [line[:2] for line in lines] == [["amemgym", name] for name in ("fetch", "verify", "evaluate")]
    told = run_in_turn([line[1:] for line in lines], surroundings(tmp_path), folder=tmp_path)
    assert [status for status, _ in told] == [0, 0, 0]
    fetched, verified, evaluated = (output for _, output in told)
    assert Path(fetched.strip()).is_dir()
    assert not verified
    assert "overall" in evaluated


def test_the_page_of_two_variants_tells_a_life_and_a_row_for_each(card: str, fake: FakeHub, repo: str) -> None:
    header, _, body = card.removeprefix("---\n").partition("\n---\n")
    assert len(header.splitlines()) < 150
    assert len(body.split()) < 2000
    assert "# Synthesized AMemGym benchmark (base, extra)\n\n**base**: A benchmark of what" in body
    assert "From `base`, written by gpt-4.1." in body
    assert "| [extra](extra/README.md) | `extra-v0.1.0` | 2 | 6 | 4 | 4K tokens |" in body
    single = held_files(fake, repo, revision="base-v0.1.0")["README.md"].decode()
    assert "## Quality" in single
    assert "Path.cwd()" not in card
    assert {"base/README.md", "extra/README.md"} <= held_files(fake, repo).keys()
