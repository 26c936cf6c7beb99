"""`AMEMGYM_BASE_URL=... AMEMGYM_API_KEY=any python -m tests.recorded [FOLDER]`: record the real model anew.

Asks the endpoint whatever it has not answered yet in that data folder (a new one without FOLDER), and puts the replies
that a replay needs beside this file. The model's name stands in recipes/real.yaml.
"""

import json
import sys
import tempfile
from pathlib import Path

from tests.recorded.recording import EVALUATE, GENERATE, OUTCOME, REPLIES, amemgym, outcome


def main(place: Path) -> None:
    """Make the variant, evaluate on it, and keep the replies and what they came to."""
    for words in (GENERATE, EVALUATE, ("cache", "export", str(REPLIES))):
        if amemgym(place, words, endpoint=True).returncode:
            sys.exit(f"amemgym {' '.join(words)} did not end well; mend the cause and give {place} to go on.")
    OUTCOME.write_text(f"{json.dumps(outcome(place), indent=2)}\n", encoding="utf-8")
    print(f"{REPLIES} and {OUTCOME} are new; the data is in {place}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="recorded-")))
