"""`amemgym compare` and `leaderboard`: finished runs side by side."""

from functools import partial
from typing import Annotated

import typer

from assets.records.base import duplicates
from assets.reporting.plurals import counted, is_or_are
from pipelines.cli.options import json_option
from pipelines.cli.scoring.evaluate import RUN, run_record
from pipelines.cli.terminal import TextConsole, print_json, print_markdown, print_plain
from pipelines.errors import Problem
from pipelines.evaluation.folder import runs_folder
from pipelines.evaluation.verifying.verdict import read_judged_run
from pipelines.experiments.scoring.all_datasets import TITLE, all_datasets_table
from pipelines.experiments.scoring.board_tables import leaderboard_table
from pipelines.experiments.scoring.compare import compare_runs, comparison_report
from pipelines.experiments.scoring.leaderboard import runs_by_dataset, write_leaderboard
from pipelines.experiments.scoring.ranking import best_first
from pipelines.experiments.scoring.twins import twin_gaps, twin_report
from pipelines.home import home


def compare(
    runs: Annotated[list[str], typer.Argument(help=RUN)],
    as_json: Annotated[bool, json_option("runs", "users", "pairs", "page", "twins instead, of twins")] = False,
) -> None:
    """Compare runs over the same users, in the terminal and as a page: differences with intervals.

    For runs on a release and on its twin, print each memory's gap between the two.
    """
    if len(runs) < 2:
        raise Problem("Give two or more runs to compare, by their folders or ids, as in: amemgym compare RUN RUN")
    folder = runs_folder(home())
    found = list(map(partial(read_judged_run, runs=folder), runs))
    twice = duplicates([run.manifest.run_id for run in found])
    if twice:
        raise Problem(f"{twice[0]} is named twice; name two different runs.")
    twins = twin_gaps(found)
    if twins:
        if as_json:
            print_json({"runs": list(map(run_record, found)), "twins": twins})
        else:
            print_markdown(twin_report(twins))
        return
    results = compare_runs(found)
    page = write_leaderboard(results, runs=folder)
    if as_json:
        parts = {"users": results.users, "pairs": results.pairs, "page": str(page)}
        print_json({"runs": list(map(run_record, results.runs)), **parts})
        return
    print_markdown(comparison_report(results))
    print_plain(TextConsole(stderr=True), f"Page: {page}")


def leaderboard(
    dataset: Annotated[str, typer.Option(help="Only runs on datasets whose name begins with this, as in: base 0.1.0")] = "",
    as_json: Annotated[bool, json_option("dataset", "digest", "page", "runs, best first")] = False,
) -> None:
    """Rank all finished runs, on one page for each dataset. Memories with runs on several datasets are also in one table."""
    folder = runs_folder(home())
    console = TextConsole(stderr=True)
    groups, unread = runs_by_dataset(folder, dataset=dataset)
    if unread:
        print_plain(
            console,
            f"{counted(len(unread), 'run')} {is_or_are(len(unread))} left out, of another version of this program or damaged; "
            f"give the same evaluate command again (replies to prompts that did not change are in the cache), or remove from "
            f"{folder}; amemgym doctor says what is wrong: "
            f"{', '.join(unread)}",
        )
    if not groups:
        raise Problem(f"There is no finished run{f' on {dataset}' if dataset else ''} in {folder}; amemgym evaluate makes one.")
    records: list[dict[str, object]] = []
    for runs in groups:
        page = write_leaderboard(compare_runs(runs), runs=folder)
        manifest = runs[0].manifest
        if not as_json:
            print_markdown(f"# {manifest.dataset}\n\n{leaderboard_table(runs)}\n")
            print_plain(console, f"Page: {page}")
        found = list(map(run_record, best_first(runs)))
        records.append({"dataset": manifest.dataset, "digest": manifest.dataset_digest, "page": str(page), "runs": found})
    if as_json:
        print_json(records)
        return
    together = all_datasets_table(groups)
    if together:
        print_markdown(f"# {TITLE}\n\n{together}\n")
