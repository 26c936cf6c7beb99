"""Plant every kind at every site and print what was caught, as a table and as data/planted_defects.json."""

import argparse
import asyncio
import json
from dataclasses import asdict, dataclass
from typing import cast

from rich.console import Console
from rich.table import Table

from assets.recipe.policies import GatePolicy
from pipelines.home import home
from tests.bench.planted_defects.kinds import KINDS, Kind
from tests.bench.planted_defects.trial import Settings, Trial

SITES = 60


@dataclass(frozen=True)
class Line:
    """What became of one kind."""

    kind: str
    caught: int
    missed: int
    false_alarms: int


async def measured(kind: Kind, settings: Settings, *, sites: int = SITES) -> Line:
    """Try the kind at every site, with the defect and without."""
    planted = [await kind.alarm(Trial(site, True, settings)) for site in range(sites)]
    sound = [await kind.alarm(Trial(site, False, settings)) for site in range(sites)]
    return Line(kind.name, sum(planted), sites - sum(planted), sum(sound))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planted_defects", description=__doc__)
    parser.add_argument("--policy", default="standard", help="the gates' policy")
    parser.add_argument("--judge-error", type=float, default=0.05, help="share of readings in which the judge errs")
    parser.add_argument("--without", action="append", default=[], metavar="FIELD", help="a field of gates to switch off")
    parser.add_argument("--only", default="", help="kinds whose names have these words")
    given = parser.parse_args()
    without = cast(list[str], given.without)
    gates = GatePolicy.model_validate({"policy": cast(str, given.policy), **dict.fromkeys(without, False)})
    settings = Settings(gates, given.judge_error)
    lines = [asyncio.run(measured(kind, settings)) for kind in KINDS if given.only in kind.name]
    title = f"{SITES} sites each, gates {' without '.join([gates.policy, *without])}"
    table = Table("kind", "caught", "missed", "false alarms", title=title)
    for line in lines:
        table.add_row(line.kind, str(line.caught), str(line.missed), str(line.false_alarms))
    Console(width=110).print(table)
    target = home().root / "planted_defects.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps([asdict(line) for line in lines], indent=2))
    print(f"Kept in {target}.")


if __name__ == "__main__":
    main()
