"""`python -m tests.bench.scaling [USERS ...]`: what many users take, with the embedded model and without any model.

A few users of demo's shape are made by the embedded model. The users counted on the command line are copies of them
(tests/bench/copies.py). Chance repeats in each copy, so no limit of shortcuts holds for them. `amemgym generate` samples
them, finds the stages' work, writes snapshots, checks, reports and releases, and asks no model: that is the pipeline's own
share. Each measured run is a process of its own. Seconds on a core count, because other programs may be busy too.
"""

import argparse
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from math import log
from pathlib import Path

import dagster as dg
import yaml
from rich.console import Console
from rich.table import Table

from pipelines.home import Home
from tests.bench.copies import COPIES, LIVES
from tests.bench.runs import Run, measured
from tests.support.commands import AMEMGYM, clean_environment

NUM_LIVES = 24
DEMO = Path(__file__).parents[2] / "pipelines" / "recipes" / "demo.yaml"
say = partial(print, flush=True)  # at once, because the next size may take an hour
# By the number of users: a run, and how long each of its steps was under way.
Measured = Mapping[int, tuple[Run, Mapping[str, float]]]


def write_recipe(folder: Path, name: str, **fields: object) -> None:
    """Write a recipe of demo's shape, alone in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    recipe = {**yaml.safe_load(DEMO.read_text(encoding="utf-8")), **fields}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")


def run(folder: Path, recipes: Path, *line: str) -> Run:
    """Run a program with this data folder and these recipes."""
    return measured(line, environment=clean_environment(folder, AMEMGYM_RECIPES=str(recipes)), folder=folder)


def make_lives(folder: Path) -> None:
    """Make the users that are copied, unless an earlier call did, and show what they took."""
    target = folder / LIVES
    if (target / "releases" / LIVES).exists():
        return
    write_recipe(folder / "recipes", LIVES, num_users=NUM_LIVES, num_reserve=NUM_LIVES // 10)
    made = run(target, folder / "recipes", *AMEMGYM, "generate", LIVES)
    given, got = made.tokens_per_user()
    say(f"{NUM_LIVES} users with the embedded model: {spent(made)}")
    say(f"  a user: {made.calls_per_user():.1f} calls, {given:,.0f} tokens in and {got:,.0f} out")
    say(f"  KB a user: {on_disk(target, users=NUM_LIVES)}")


def fill(folder: Path, users: int) -> tuple[Path, Path]:
    """Return a data folder that holds all work of so many copies, made unless an earlier call did, and their recipe's."""
    filled, recipes, pool = folder / f"filled-{users}", folder / f"recipes-{users}", folder / f"pool-{users}.parquet"
    counts = {"num_users": users, "num_reserve": users // 10}
    unlimited = {"margin": 1.0, "form_margin": 1.0}
    write_recipe(recipes, COPIES, **counts, pool={"paths": [str(pool)]}, shortcuts=unlimited)
    if not filled.exists():
        unfinished = filled.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        run(unfinished, recipes, sys.executable, "-m", "tests.bench.copies", str(folder / LIVES), str(pool))
        unfinished.rename(filled)
    return filled, recipes


def measure(folder: Path, users: int) -> tuple[Run, Mapping[str, float]]:
    """Make so many copies from the beginning, and show what that took."""
    filled, recipes = fill(folder, users)
    target = folder / f"home-{users}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(filled, target)
    made = run(target, recipes, *AMEMGYM, "generate", COPIES)
    say(f"{users:,} users, no model: {spent(made)}")
    say(f"  KB a user: {on_disk(target, users=users)}")
    return made, step_seconds(target)


def spent(made: Run) -> str:
    """Say what a run took."""
    return (
        f"{made.processor:.1f} s on a core, {made.seconds:.0f} s in all, peak {made.megabytes:,.0f} MB, "
        f"{made.open_files} files open at once"
    )


def on_disk(folder: Path, *, users: int) -> str:
    """Say how many kilobytes a user takes in each file or folder at the top."""
    sizes: list[str] = []
    for top in sorted(folder.iterdir()):
        files = [top] if top.is_file() else [one for one in top.rglob("*") if one.is_file()]
        size = sum(one.stat().st_size for one in files)
        sizes.append(f"{top.name} {size / 1000 / users:.1f}")
    return ", ".join(sizes)


def step_seconds(folder: Path) -> dict[str, float]:
    """Return by step how long it was under way, by the clock, in all work units together."""
    found: defaultdict[str, float] = defaultdict(float)
    with dg.DagsterInstance.from_config(str(Home(folder).dagster)) as instance:
        for dagster_run in instance.get_runs():
            for entry in instance.all_logs(dagster_run.run_id, of_type=dg.DagsterEventType.STEP_SUCCESS):
                event = entry.get_dagster_event()
                found[str(event.step_key)] += event.step_success_data.duration_ms / 1000
    return dict(found)


def show_growth(found: Measured) -> None:
    """Show what a user more takes between two sizes, and the power of their number with which time grows: 1 is linear."""
    for few, many in pairwise(sorted(found)):
        before, after = found[few][0], found[many][0]
        more = (many - few) / 1000
        say(
            f"from {few:,} to {many:,} users, a user more: {(after.processor - before.processor) / more:.1f} ms on a core, "
            f"{(after.megabytes - before.megabytes) / more:.1f} KB of memory; "
            f"time grows with the power {log(after.processor / before.processor) / log(many / few):.2f}"
        )


def show_steps(found: Measured) -> None:
    """Show the steps' seconds by the clock, the slowest of the largest run first."""
    sizes = sorted(found)
    table = Table("step, seconds by the clock", *(f"{users:,}" for users in sizes))
    largest = found[sizes[-1]][1]
    for step in sorted(largest, key=largest.__getitem__, reverse=True):
        table.add_row(step, *(f"{found[users][1].get(step, 0.0):.1f}" for users in sizes))
    Console(width=100).print(table)


def main() -> None:
    """Make the lives, measure each size, show how the sizes compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[300, 3000])
    parser.add_argument("--keep", type=Path, help="a folder for all that is made: a later call finds lives and copies there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        make_lives(folder)
        found = {users: measure(folder, users) for users in sorted(given.sizes)}
    show_growth(found)
    show_steps(found)


if __name__ == "__main__":
    main()
