"""Names as they may be shared: where files lie on this machine is nobody's business."""

from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath


def file_name(path: str) -> str:
    """The last part of a path of any system."""
    return PureWindowsPath(path).name


# Every vote names its judge, and there are hundreds of thousands of votes.
@lru_cache(maxsize=64)
def shared_model(model: str) -> str:
    """The model's name; of a model that is a local file, only the file's."""
    local = model.startswith((".", "~")) or PurePosixPath(model).is_absolute() or PureWindowsPath(model).is_absolute()
    return file_name(model) if local else model
