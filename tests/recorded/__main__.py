"""`AMEMGYM_BASE_URL=... AMEMGYM_API_KEY=any make record [FOLDER=...]`: record a real model.

Asks the endpoint whatever it has not answered yet, in the recording or in that data folder (a new one without FOLDER), and puts
the replies that a replay needs into the folder of the variant beside this file, with the prompts. To ask for everything anew,
remove that folder first. The models' names stand in the recipes and, of the evaluation, in recording.py. `--variant` takes
another recipe than strong. `--replay` takes all from those replies, asks nobody, and prints what they come to.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from prompts.catalogue import override_prompts
from tests.recorded.recording import RECIPES, Recording, recordings

NOBODY = {"AMEMGYM_BASE_URL": "http://127.0.0.1:9/v1", "AMEMGYM_API_KEY": "any"}  # a replay asks it nothing


def main(recording: Recording, place: Path, *, replay: bool) -> None:
    """Run the commands in this process, which imports everything once."""
    if replay and not recording.exists:
        sys.exit(f"Nothing is recorded in {recording.folder}: `make record` fills it, with a model to ask.")
    if not replay and not os.environ.get("AMEMGYM_BASE_URL"):
        sys.exit("Set AMEMGYM_BASE_URL and AMEMGYM_API_KEY: the embedded model is not recorded.")
    os.environ |= {"AMEMGYM_HOME": str(place), "AMEMGYM_RECIPES": str(RECIPES), **(NOBODY if replay else {})}
    from pipelines.cli.main import app
    from pipelines.errors import Problem

    with override_prompts(recording.prompts() if replay else []):
        for words in recording.commands(place, replay=replay):
            try:
                status = app(words, standalone_mode=False)
            except Problem as problem:
                # A small model may finish no user; what its words came to until then is recorded all the same.
                status = 0
                print(problem, file=sys.stderr)
            if status:
                sys.exit(f"amemgym {' '.join(words)} did not end well; mend the cause and give {place} to go on.")
        if not replay:
            recording.keep_asked(place)
        told = json.dumps(recording.outcome_of(place), indent=2)
    if replay:
        print(told)
    else:
        recording.outcome.write_text(f"{told}\n", encoding="utf-8")
        print(f"{recording.replies} and {recording.outcome} are new; the data is in {place}.")


if __name__ == "__main__":
    variants = [recording.variant for recording in recordings()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", type=Path)
    parser.add_argument("--variant", choices=variants, default="strong")
    parser.add_argument("--replay", action="store_true")
    given = parser.parse_args()
    main(Recording(given.variant), given.place or Path(tempfile.mkdtemp(prefix="recorded-")), replay=given.replay)
