"""Directories of ours inside a Hermes home: told from others, filled, refreshed, set aside and removed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import yaml

from hermes_memory.adapters.modes import is_open_to_writers, keep_writers_out, make_readable
from hermes_memory.domain.errors import ConfigurationError
from hermes_memory.hermes.files import DRAFT, write_atomically
from hermes_memory.hermes.interpreters import DISTRIBUTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """Files of one of our packages, to be copied into a directory of the host.

    Attributes:
        directory: Where the host looks for them.
        package: The package they are copied from.
        files: Their names. The first is the manifest, which tells whose directory it is; the last is the one that
            makes the host look, so that it never sees an incomplete copy.
    """

    directory: Path
    package: str
    files: tuple[str, ...]

    def require_room(self, *, force: bool) -> None:
        """Make sure that the place is free, ours, or may be freed by force.

        Raises:
            ConfigurationError: It is a symbolic link, or not ours and not forced.
            OSError: It cannot be read.
        """
        places = (self.directory, *map(self.directory.joinpath, self.files))
        linked = next((path for path in places if path.is_symlink()), None)
        if linked is not None:
            raise ConfigurationError(f"{linked} is a symbolic link: remove it yourself, nothing was changed")
        if self.is_foreign and not force:
            raise ConfigurationError(
                f"{self.directory} was not made by {DISTRIBUTION}: move it, or use --force to set it aside"
            )

    @property
    def is_foreign(self) -> bool:
        """Whether something is there that is not ours."""
        if self._is_vacant:
            return False
        try:
            manifest = yaml.safe_load((self.directory / self.files[0]).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError, yaml.YAMLError):
            return True
        return not isinstance(manifest, dict) or manifest.get("distribution") != DISTRIBUTION

    def strangers(self) -> list[str]:
        """Return the names of what is in the directory beside our files."""
        known = {*self.files, "after-install.md", self._compiled.name, *(path.name for path in self._abandoned())}
        return sorted(path.name for path in self.directory.iterdir() if path.name not in known)

    def everything(self) -> Iterator[Path]:
        """Yield the directory and all that is below it, if it is there."""
        if self.directory.exists():
            yield self.directory
            yield from self.directory.rglob("*")

    @property
    def is_current(self) -> bool:
        """Whether the directory holds our files as this version of the library writes them.

        Raises:
            OSError: It cannot be read.
        """
        return all(_read(path) == text for path, text in self._contents())

    def refresh(self) -> bool:
        """Write what is missing, differs, or could be written by others; tell whether anything was.

        The place of the compiled code is made too: the host would make it with the mode that its umask leaves. A
        directory that is missing or empty is made whole elsewhere first: nobody finds half of one, which would be taken
        for somebody else's. What somebody who was killed at that has left is removed: the caller has the home alone.

        Raises:
            OSError: The directory cannot be written.
        """
        if not self._is_vacant:
            return self._write()
        make_readable(self.directory.parent)
        # Beside its place, so that it gets there by one rename, under a name that the host passes over.
        draft_name = f".{self.directory.name}.draft-"
        for abandoned in self.directory.parent.glob(f"{draft_name}*"):
            shutil.rmtree(abandoned)
        with tempfile.TemporaryDirectory(prefix=draft_name, dir=self.directory.parent) as beside:
            Path(beside).chmod(0o700)  # a narrow umask would shut us out too
            draft = replace(self, directory=Path(beside) / self.directory.name)
            draft._write()
            draft.directory.rename(self.directory)
        return True

    def _write(self) -> bool:
        make_readable(self.directory)
        keep_writers_out(self.directory)
        if _has_open_places(self._compiled):
            shutil.rmtree(self._compiled)
        make_readable(self._compiled)
        stale = [(path, text) for path, text in self._contents() if _read(path) != text or is_open_to_writers(path)]
        for path in self._abandoned():
            path.unlink()
        for path, text in stale:
            write_atomically(path, text)
        return bool(stale)

    def set_aside(self) -> Path:
        """Move the directory to a name that the host passes over, and return that."""
        number = 1
        while (aside := self.directory.with_name(f".{self.directory.name}.replaced-{number}")).exists():
            number += 1
        return self.directory.rename(aside)

    def delete(self) -> None:
        """Remove our files and the directory. The manifest goes last: what is left until then is still ours."""
        if self._compiled.exists():
            shutil.rmtree(self._compiled)
        for path in self._abandoned():
            path.unlink()
        for name in ("after-install.md", *reversed(self.files)):
            (self.directory / name).unlink(missing_ok=True)
        self.directory.rmdir()

    @property
    def _is_vacant(self) -> bool:
        return not self.directory.exists() or (self.directory.is_dir() and not any(self.directory.iterdir()))

    @property
    def _compiled(self) -> Path:
        return self.directory / "__pycache__"

    def _abandoned(self) -> list[Path]:
        """Return what somebody who was killed while writing one of our files has left of it."""
        return [path for name in self.files for path in self.directory.glob(f".{name}.????????{DRAFT}")]

    def _contents(self) -> Iterator[tuple[Path, str]]:
        for name in self.files:
            text = resources.files(self.package).joinpath(name).read_text(encoding="utf-8")
            yield self.directory / name, text


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def _has_open_places(directory: Path) -> bool:
    """Tell whether others may write to a directory or to what is in it, so that nobody knows whose that is."""
    if not directory.exists():
        return False
    return any(is_open_to_writers(path) for path in (directory, *directory.iterdir()))
