"""Modules below one private name, so that modules of others keep theirs. Processes of memories begin here: it imports little.

Two programs have folders called `prompts` or `assets`: ours, and that of whoever wrote a memory. In a memory's own process
ours are below `amemgym`; where its code runs in our process, its are below a name of their own. A private module's `import`
statements find what is private with it first.
"""

import builtins
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from itertools import count
from pathlib import Path
from types import ModuleType

OURS = "amemgym"  # below it, a memory finds what it may import of this project
FOLDERS = ("assets", "dataset_card", "pipelines", "prompts", "validation")
ROOT = Path(__file__).parents[3]
HERE = re.compile(r"\bmemory_code_\d+\.")  # names of modules of memories in our process
NUMBERS = count(1)
IMPORT = builtins.__import__


class PrivateImports:
    """Finds and loads the modules below a name, in the folders of `path`. `owns`: whether a plain name is one of them."""

    def __init__(self, name: str, *, path: Sequence[str], owns: Callable[[str], bool]) -> None:
        self.name = name
        self.package = ModuleType(name)
        self.package.__path__ = list(path)
        self._owns = owns
        sys.modules[name] = self.package
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module below the name is; Python asks this for every import."""
        if not fullname.startswith(f"{self.name}."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _PrivateLoader(fullname, spec.loader.path, imports=self)
        return spec

    def load_file(self, path: Path) -> ModuleType:
        """Return the module that a file is. Raises whatever its code raises."""
        name = f"{self.name}.{path.stem.replace('.', '_')}"
        spec = spec_from_loader(name, _PrivateLoader(name, str(path), imports=self))
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules.setdefault(name, module)
        spec.loader.exec_module(module)
        return module

    def import_name(
        self,
        name: str,
        namespace: Mapping[str, object] | None = None,
        local: Mapping[str, object] | None = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Import as the statement does in a private module: what `__import__` is there."""
        top, _, below = name.partition(".")
        if level == 0 and self._owns(top):
            module = IMPORT(f"{self.name}.{name}", namespace, local, names, 0)
            return module if names else sys.modules[f"{self.name}.{top}"]
        # In our process, ours have their plain names.
        if level == 0 and top == OURS and names and below.partition(".")[0] in FOLDERS:
            return IMPORT(below, namespace, local, names, 0)
        module = IMPORT(name, namespace, local, names, level)
        return self._importlib() if module is importlib else module

    def _importlib(self) -> ModuleType:
        """Return the library as a private module sees it, whose `import_module` finds what is private with it first."""
        seen = ModuleType("importlib")
        vars(seen).update(vars(importlib), import_module=self._import_module)
        return seen

    def _import_module(self, name: str, package: str | None = None) -> ModuleType:
        private = self._owns(name.partition(".")[0])
        return importlib.import_module(f"{self.name}.{name}" if private else name, package)


class _PrivateLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, *, imports: PrivateImports) -> None:
        super().__init__(name, path)
        self._imports = imports

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._imports.import_name}
        super().exec_module(module)


def import_ours_privately() -> PrivateImports:
    """Let modules of this project be found below `amemgym`: in the process of a memory, whose path has no folder of ours."""
    return PrivateImports(OURS, path=[str(ROOT)], owns=FOLDERS.__contains__)


@cache
def imports_in_folder(folder: Path) -> PrivateImports:
    """Return the imports of code in a folder that runs in our process.

    First come its own modules, also those of folders in it that its code puts on `sys.path`.
    """

    def owns(top: str) -> bool:
        if f"{imports.name}.{top}" in sys.modules:
            return True
        inside = [place for place in sys.path if Path(place).is_relative_to(folder)]
        imports.package.__path__ = list(dict.fromkeys([*inside, str(folder)]))
        spec = PathFinder.find_spec(top, imports.package.__path__)
        if spec is None or top in sys.builtin_module_names:
            return False
        return spec.loader is not None or top in FOLDERS or find_spec(top) is None

    # Before its code puts a folder with one of these names on the path.
    for name in FOLDERS:
        importlib.import_module(name)
    imports = PrivateImports(f"memory_code_{next(NUMBERS)}", path=[str(folder)], owns=owns)
    return imports


def with_plain_names(text: str) -> str:
    """Return a text of an error without the private names of modules."""
    return HERE.sub("", text)
