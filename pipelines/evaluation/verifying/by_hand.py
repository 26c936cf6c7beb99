"""Compute a run's headline numbers from its tables and the release's data.json. This file imports nothing of this project.

    python -I pipelines/evaluation/verifying/by_hand.py RUN_FOLDER DATA_JSON

It reads AMemGym's questions in their own wording. Exit status 1: a number is not that of results.json.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from scipy.special import stdtrit

Row = dict[str, Any]
Keys = dict[str, dict[tuple[int, str], str]]  # by user, then by period and question
KINDS = {"memory": "question", "none": "no_memory", "facts": "facts", "everything": "everything"}
CHOICES = re.compile(r"<(choices[^>]*)>\n(.*?)\n</\1>", re.DOTALL)
ANSWER = re.compile(r'"answer"\s*:\s*"?(\d+)"?\s*[,}]')
FEWEST_USERS = 6
LEAST_ROOM = 0.1


def read_table(path: Path) -> list[Row]:
    """Return the rows of a Parquet file."""
    parquet: Any = pq
    return parquet.read_table(path).to_pylist()


def right_answers(user: Row) -> dict[tuple[int, str], str]:
    """Return the text of the right option by period and question: the one that was written for the state at its end."""
    found: dict[tuple[int, str], str] = {}
    for period, lived in enumerate(user["periods"]):
        for number, question in enumerate(user["qas"], start=1):
            state = [lived["state"][name] for name in question["required_info"]]
            [right] = [option["answer"] for option in question["answer_choices"] if option["state"] == state]
            found[period, f"q{number:02}"] = " ".join(right.split())
    return found


def shown_options(row: Row) -> dict[str, str]:
    """Return the options that were shown, by their numbers."""
    shown = CHOICES.findall(row["asked"])
    return dict(line.split(". ", 1) for line in shown[-1][1].split("\n")) if shown else {}


def chosen_text(row: Row) -> str | None:
    """Return the text of the option that a reply chooses by its number; None for a reply in other words."""
    numbers = ANSWER.findall(row["reply"])
    return shown_options(row).get(numbers[-1]) if numbers else None


class Counts:
    """Right answers and all of them, by user; `unread`: replies in other words, for which the run's own verdict is taken."""

    def __init__(self, rows: Iterable[Row], keys: Keys) -> None:
        self.right: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.unread = 0
        for row in rows:
            chosen = chosen_text(row)
            if chosen is None:
                self.unread += row["status"] != "unscored"
                is_right = row["status"] == "right"
            else:
                is_right = chosen == keys[row["user_id"]][row["period"], row["item"]]
            self.asked[row["user_id"]] += 1
            self.right[row["user_id"]] += is_right

    @property
    def share(self) -> float:
        return round(self.right.total() / self.asked.total(), 6)

    def interval(self) -> tuple[float | None, float | None]:
        """Return the 95 % interval over users: Wilson's, with as many answers as would scatter as users do (jackknife)."""
        users, asked, right = len(self.asked), self.asked.total(), self.right.total()
        if users < FEWEST_USERS:
            return None, None
        share = right / asked
        without = [(right - self.right[user]) / (asked - self.asked[user]) for user in self.asked]
        mean = sum(without) / users
        variance = (users - 1) / users * sum((value - mean) ** 2 for value in without)
        independent = share * (1 - share) / asked
        effect = max(1 / 3, variance / independent) if independent else 1.0
        weight = float(stdtrit(users - 1, 0.975)) ** 2 * effect / asked
        middle = (share + weight / 2) / (1 + weight)
        reach = sqrt(weight * (share * (1 - share) + weight / 4)) / (1 + weight)
        return round(max(0.0, middle - reach), 6), round(min(1.0, middle + reach), 6)


def memory_score(rows: Sequence[Row], keys: Keys) -> float | None:
    """Return the mean over periods of (overall - chance) / (upper bound - chance); None where chance is too near."""
    scores: list[float] = []
    for period in sorted({row["period"] for row in rows}):
        asked = [row for row in rows if row["period"] == period and row["kind"] == "question"]
        bound = [
            row for row in rows if row["period"] == period and row["kind"] == "upper_bound" and row["status"] != "unscored"
        ]
        if not asked or not bound:
            continue
        chance = sum(1 / row["options"] for row in asked) / len(asked)
        right = {kind: Counts(own, keys).right.total() / len(own) for kind, own in (("overall", asked), ("bound", bound))}
        if right["bound"] - chance >= LEAST_ROOM:
            scores.append((right["overall"] - chance) / (right["bound"] - chance))
    return round(sum(scores) / len(scores), 6) if scores else None


def problems(rows: Sequence[Row], turns: Sequence[Row], users: dict[str, Row], keys: Keys, *, plan: Row) -> list[str]:
    """Return what is wrong with what was asked and told: questions that are missing or asked too late, other first messages."""
    found: list[str] = []
    asked = Counter((row["user_id"], row["period"], row["item"]) for row in rows if row["kind"] == "question")
    wanted = Counter((user, *place) for user in plan["users"] for place in keys[user])
    # A run on a sample of so many questions has no more and no other.
    if asked != wanted and not (asked < wanted and asked.total() == plan.get("questions")):
        found.append(f"{asked.total():,} questions were asked, and the release has {wanted.total():,} for these users.")
    told = Counter((turn["user_id"], turn["period"]) for turn in turns)
    for row in [row for row in rows if row["kind"] == "question"]:
        place = f"{row['item']} of {row['user_id']}, period {row['period']}"
        question = users[row["user_id"]]["qas"][int(row["item"][1:]) - 1]
        options = sorted(" ".join(option["answer"].split()) for option in question["answer_choices"])
        if question["query"] not in row["asked"] or sorted(shown_options(row).values()) != options:
            found.append(f"{place}: it was asked in other words than the release's.")
        before = 2 * sum(told[row["user_id"], period] for period in range(row["period"] + 1))
        if row["tries"] and row["written"] != before:
            found.append(f"{place}: it was asked after {row['written']} messages, and not after {before}.")
    for turn in turns:
        session = users[turn["user_id"]]["periods"][turn["period"]]["sessions"][turn["session"]]
        if turn["round"] == 0 and turn["message"] != session["query"]:
            found.append(f"A session of {turn['user_id']} in period {turn['period']} begins with other words.")
    return found


def numbers_of(rows: Sequence[Row], told: Row, keys: Keys) -> dict[str, tuple[object, object]]:
    """Return each headline number by name, as it is computed here, and as `results.json` has it."""
    own = Counts([row for row in rows if row["kind"] == "question"], keys)
    overall = told["metrics"]["overall"]
    found: dict[str, tuple[object, object]] = {
        "overall": (own.share, overall["value"]),
        "its interval": (own.interval(), (overall["low"], overall["high"])),
        "replies in other words than a number, counted as the run does": (own.unread, own.unread),
    }
    # Its results may say why a memory score would mean nothing.
    if not told["no_memory_score"]:
        found["memory"] = (memory_score(rows, keys), told["metrics"]["memory"]["value"])
    for name, kind in KINDS.items() if told["isolated"] and not told["isolated"]["unasked"] else ():
        share = Counts([row for row in rows if row["kind"] == kind], keys).share
        found[f"right with {name}"] = (share, told["isolated"][name]["value"])
    return found


def main(folder: Path, data: Path) -> int:
    users: dict[str, Row] = {user["id"]: user for user in json.loads(data.read_text(encoding="utf-8"))}
    keys = {name: right_answers(user) for name, user in users.items()}
    rows = read_table(folder / "answers.parquet")
    told = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    status = 0
    for name, (computed, expected) in numbers_of(rows, told, keys).items():
        status |= computed != expected
        print(f"{name}: {computed}" if computed == expected else f"{name}: {computed}, and not {expected} as in results.json")
    plan = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    print(f"{len(plan['users'])} of {len(users)} users of the release")
    for problem in problems(rows, read_table(folder / "turns.parquet"), users, keys, plan=plan):
        status = 1
        print(problem)
    return status


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
