"""Serve a study's page to its annotators, on this machine only."""

import contextlib

import uvicorn

from pipelines.cli.listening import listening_at
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.server import create_app

HOST = "127.0.0.1"


def serve_study(folder: StudyFolder, *, port: int) -> None:
    """Run until interrupted; port 0 takes a free one. Raises Problem when the port is taken."""
    people = [sheet.annotator for sheet in folder.sheets() if sheet.kind == "person"]
    app = create_app(folder)
    with listening_at(HOST, port) as listening:
        bound = listening.getsockname()[1]
        for name in people:
            print(f"{name}: http://{HOST}:{bound}/{name}/", flush=True)
        print("Every answer is saved at once; Ctrl-C ends this.", flush=True)
        quiet = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(quiet).run(sockets=[listening])
