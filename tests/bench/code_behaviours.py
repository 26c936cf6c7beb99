"""`python -m tests.bench.code_behaviours RELEASE`: every call of a release of code questions, made again from its own files."""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assets.code_qa.packages.reading import text_digest
from assets.isolation.boundary import NoBoundary
from validation.code_qa.behaviours import ToldCall, false_calls

parquet: Any = pq  # typed in part only


def rows(release: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a flat table, of all its variants. Raises SystemExit for a release that has none."""
    files = sorted(release.rglob(f"{table}.parquet"))
    if not files:
        sys.exit(f"{release} has no table {table}; give the folder of a release of code questions.")
    return [row for path in files for row in parquet.read_table(path).to_pylist()]


def main(release: Path) -> int:
    """Print each false call and the count. The exit code is 1 where there is one."""
    texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    false: list[str] = []
    for file in rows(release, "files"):
        texts[file["task_id"]][file["path"]] = file["text"]
        if text_digest(file["text"]) != file["content"]:
            false.append(f"{file['path']} of {file['task_id']} does not have its digest")
    calls: defaultdict[str, dict[ToldCall, None]] = defaultdict(dict)
    for row in rows(release, "behaviours"):
        calls[row["task_id"]][ToldCall(row["call"], row["outcome"], row["result"])] = None
    try:
        for task_id, told in calls.items():
            false += [f"{task_id}: {sentence}" for sentence in false_calls(list(told), texts[task_id])]
    except NoBoundary as error:
        sys.exit(str(error))
    for sentence in false:
        print(sentence)
    count = sum(map(len, calls.values()))
    print(f"{count} calls of {len(calls)} questions were made again; {len(false)} are false.")
    return 1 if false else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
