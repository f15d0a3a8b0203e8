"""Find the file that an import means: packages, relative imports, `src` layouts, namespace packages."""

import posixpath
from collections.abc import Collection, Iterable, Mapping


def module_names(paths: Iterable[str], above: str = "", imported: Collection[str] = ()) -> dict[str, str]:
    """Return each file's dotted module name; paths are relative and POSIX, names are unique.

    The name is the path without everything up to a folder `src`. Folders above the outermost package are
    left out, too, if `imported` (first parts of absolute imports) has the package's name but not the top
    folder's. `above` is the dotted name of the packages that the scanned folder itself is in, if any.
    """
    ordered = sorted(paths, key=lambda path: (path.endswith(".pyi"), path.count("/"), path))
    packages = {posixpath.dirname(path) for path in ordered if _stem(path) == "__init__"}
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in ordered:
        name = _name(path, packages, above, imported)
        if name in taken:
            name = path.rpartition(".")[0].replace("/", ".")
        if name in taken:
            name = path.replace("/", ".")
        taken.add(name)
        names[path] = name
    return names


def _stem(path: str) -> str:
    return posixpath.basename(path).rpartition(".")[0]


def _name(path: str, packages: set[str], above: str, imported: Collection[str]) -> str:
    folders = path.split("/")[:-1]
    start = len(folders)
    while start and "/".join(folders[:start]) in packages:
        start -= 1
    outside, inside = folders[:start], folders[start:]
    if "src" in outside:
        outside = outside[len(outside) - outside[::-1].index("src") :]
    elif outside and inside and inside[0] in imported and outside[0] not in imported:
        outside = []
    parts = [*([above] if above else []), *outside, *inside]
    if _stem(path) != "__init__":
        parts.append(_stem(path))
    return ".".join(parts) or "__init__"


class Finder:
    """The modules of a project by name; `paths` maps a dotted name to the file's path."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take the names that `module_names` returned, by path."""
        self.paths = {name: path for path, name in names.items()}
        self.packages = {name for name, path in self.paths.items() if _stem(path) == "__init__"}
        self.roots = {name.partition(".")[0] for name in self.paths}
        self.parents = {
            name.rsplit(".", depth)[0] for name in self.paths for depth in range(1, name.count(".") + 1)
        }
        self.tails: dict[str, list[str]] = {}
        for name in self.paths:
            parts = name.split(".")
            for start in range(1, len(parts)):
                self.tails.setdefault(".".join(parts[start:]), []).append(name)

    def absolute(self, name: str, importer: str) -> str | None:
        """Return the project's module that `import name` means, or None.

        Tried in turn: its full name; a file in a folder above that is not a package (a script's own folder,
        or the one that holds a package of tests); the only module whose name ends so (in a source folder that
        the scan does not know of). A module in a package is never found without the package's name.
        """
        if name in self.paths or name in self.parents:
            return name
        folder = importer.rpartition(".")[0]
        while folder:
            beside = f"{folder}.{name}"
            if beside in self.paths and folder not in self.packages:
                return beside
            folder = folder.rpartition(".")[0]
        if name.partition(".")[0] in self.roots or "." not in name:
            return None
        outside = len(name) + 1
        ending = [each for each in self.tails.get(name, []) if each[:-outside] not in self.packages]
        return ending[0] if len(ending) == 1 else None

    def relative(self, module: str, level: int, importer: str, *, is_package: bool) -> str:
        """Return the absolute name of `from ..module import`, whether or not it exists."""
        up = level - 1 if is_package else level
        parts = importer.split(".")
        base = ".".join(parts[: len(parts) - up]) if up else importer
        return ".".join(part for part in (base, module) if part)
