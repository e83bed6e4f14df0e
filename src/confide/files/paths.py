"""Finds the files that paths mean, and writes files completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from confide._checks import shown
from confide.errors import InvalidInput

WITHOUT = {
    *(errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT),
    *(errno.ENOSYS, errno.EPERM, errno.EXDEV, errno.EMLINK),
}
"""What mounts and systems answer that have no files without a name, or cannot name them later."""


def named(path: Path | str) -> str:
    """A path for a message, always on one line."""
    return repr(str(path))


def counted(n: int, noun: str) -> str:
    """A count in words: 1 report, 2,000 reports."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def expand(paths: Iterable[Path | str], suffixes: Sequence[str]) -> list[Path]:
    """The files that paths, globs and folders stand for, each once.

    A folder stands for every file in it, at any depth, that has one of the suffixes and is not
    hidden.
    """
    found: list[Path] = []
    for given in paths:
        path = Path(given)
        if path.is_dir():
            inside = [
                file
                for file in sorted(path.rglob("*"))
                if ends(file, suffixes) and not file.name.startswith((".", "_"))
            ]
            if not inside:
                raise InvalidInput(
                    f"{' or '.join(suffixes)} files in the folder {named(path)}", "none"
                )
            found += inside
        elif path.exists() or not glob.has_magic(str(given)):
            found.append(path)
        else:
            matches = sorted(Path(match) for match in glob.glob(str(given), recursive=True))
            if not matches:
                raise InvalidInput(f"files that match {named(path)}", "none")
            found += matches
    if not found:
        raise InvalidInput(f"at least one {' or '.join(suffixes)} file", "none")
    for path in found:
        readable(path)
        if not ends(path, suffixes):
            raise InvalidInput(f"a {' or '.join(suffixes)} file", named(path))
    different(found)
    return found


def listed(paths: Any) -> list[str | Path]:
    """One path or several, as a list; anything else is refused."""
    if isinstance(paths, (str, Path)):
        return [paths]
    # Tables are made of columns, and some of them are iterables of their names.
    if isinstance(paths, Mapping) or hasattr(type(paths), "columns"):
        raise InvalidInput(
            "paths of files, globs or folders",
            f"a table ({type(paths).__module__.partition('.')[0]}.{type(paths).__name__})",
            "cf.tables.counts(table, mechanism, column=...) counts a column of a table.",
        )
    found = list(paths) if isinstance(paths, Iterable) else [paths]
    if not all(isinstance(one, (str, Path)) for one in found):
        raise InvalidInput("paths of files, globs or folders", shown(paths))
    return found


def ends(path: Path, suffixes: Sequence[str]) -> bool:
    """Whether a file has one of some suffixes, which may have two parts: .csv.gz."""
    return any(path.name.removesuffix(suffix) not in ("", path.name) for suffix in suffixes)


def spelt(path: Path) -> None:
    """Refuse a name that is no text to Arrow: bytes that the locale, or UTF-8, cannot read."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            "a file name that this locale can read",
            named(path),
            "Set LC_ALL=C.UTF-8, or rename the file.",
        ) from None


def readable(path: Path) -> None:
    """Refuse what is not a file before anything else is done."""
    spelt(path)
    if not path.exists():
        raise InvalidInput(f"a file at {named(path)}", "none")
    if not path.is_file():
        raise InvalidInput(f"a file at {named(path)}", "a folder" if path.is_dir() else "a device")


def different(paths: Sequence[Path]) -> None:
    """Refuse a file that is named twice: its reports would count twice."""
    seen = set()
    for path in paths:
        # By number, since a file may have several names.
        state = path.stat()
        real = (state.st_dev, state.st_ino)
        if real in seen:
            raise InvalidInput("each file once", f"{named(path)} twice")
        seen.add(real)


def writable(path: Path, suffixes: Sequence[str], inputs: Iterable[Path] = ()) -> None:
    """Refuse an output of the wrong kind, or one that would destroy an input."""
    spelt(path)
    if path.suffix not in suffixes:
        raise InvalidInput(f"an output file that ends in {' or '.join(suffixes)}", named(path))
    if path.exists() and not path.is_file():
        raise InvalidInput(f"a file to write at {named(path)}", "a folder or a device")
    if not path.parent.is_dir():
        raise InvalidInput(f"a folder {named(path.parent)} to write into", "none")
    for given in inputs:
        there = path.exists() and given.exists()
        if path.resolve() == given.resolve() or (there and path.samefile(given)):
            raise InvalidInput("an output file other than the inputs", named(path))


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary file in the same folder, which takes the place of ``path`` only when all is well.

    Readers see the old file or the new one, never half of it.
    """
    path = path.resolve()
    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem[:50]}.", suffix=path.suffix
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def publish(temporary: Path, path: Path) -> None:
    """Put a finished file in its place, for those to read who could read the old one."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.chmod(_mode(path))
    temporary.replace(path)


def nameless(folder: Path) -> bool:
    """Whether a folder takes files without a name, which go with the process that writes them."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    spare = _spare(folder)
    try:
        with _without_name(folder) as file:
            _name(file, spare)
    except OSError as error:
        # A full disk, say, is no such answer: a moment later all may be well.
        if error.errno not in WITHOUT:
            raise
        return False
    finally:
        spare.unlink(missing_ok=True)
    return True


def _without_name(folder: Path) -> BinaryIO:
    return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600), "wb")


def _name(file: BinaryIO, path: Path) -> None:
    # With a folder given, Python follows the link to the open file.
    os.link(f"/proc/self/fd/{file.fileno()}", path, src_dir_fd=file.fileno())


def _spare(folder: Path) -> Path:
    return folder / f".{secrets.token_hex(8)}.tmp"


@contextlib.contextmanager
def unseen(path: Path, *, replace: bool = False, private: bool = False) -> Iterator[BinaryIO]:
    """A file that gets its name when it is whole.

    Until then it has none, and whatever ends the process leaves nothing behind. Where the system
    or the mount does not have such files, it has a hidden name until then.

    Parameters
    ----------
    path
        The name.
    replace
        Replace an existing file of this name.
    private
        Only its owner may read a new file. A file that replaces another keeps its permissions.

    Raises
    ------
    FileExistsError
        If the name is taken, unless that file is to be replaced.
    """
    path = path.resolve()
    if nameless(path.parent):
        with _without_name(path.parent) as file:
            yield file
            _finish(file, path, private=private)
            if replace:
                spare = _spare(path.parent)
                _name(file, spare)
                spare.replace(path)
            else:
                _name(file, path)
        return
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:50]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            _finish(file, path, private=private)
        give(Path(name), path, replace=replace, private=private)
    finally:
        Path(name).unlink(missing_ok=True)


def give(whole: Path, path: Path, *, replace: bool, private: bool = False) -> None:
    """Give a finished file a second name, so that the first still tells which file it is.

    Where a file cannot have two names the first one goes.

    Raises
    ------
    FileExistsError
        If the name is taken, unless that file is to be replaced.
    """
    whole.chmod(_mode(path, private=private))
    spare = whole.with_name(f"{whole.name}.new")
    spare.unlink(missing_ok=True)
    try:
        os.link(whole, spare if replace else path)
    except FileExistsError:
        raise
    except OSError:
        if path.exists() and not replace:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        whole.replace(path)
    else:
        if replace:
            spare.replace(path)


def _finish(file: BinaryIO, path: Path, *, private: bool) -> None:
    file.flush()
    if hasattr(os, "fchmod"):
        os.fchmod(file.fileno(), _mode(path, private=private))
    os.fsync(file.fileno())


def _mode(path: Path, *, private: bool = False) -> int:
    """Permissions of a file at this path: those of the old file, or the default."""
    if path.exists():
        return path.stat().st_mode & 0o777
    return 0o600 if private else 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_bytes(path: Path, data: bytes) -> None:
    """Write a whole file or nothing."""
    with atomic(path) as temporary:
        temporary.write_bytes(data)


def load_json(data: bytes | str, where: str) -> Any:
    """Strict JSON: a key given twice, NaN and endless nesting are refused."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except InvalidInput as error:
        raise InvalidInput(f"{error.expected} in {where}", error.got, error.advice) from None
    except UnicodeDecodeError:
        raise InvalidInput(f"UTF-8 text in {where}", "other bytes") from None
    except json.JSONDecodeError as error:
        got = f"something else at line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"JSON in {where}", got) from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"JSON in {where}", "numbers too long or nesting too deep") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InvalidInput("each key once", f"{shown(key)} twice")
        result[key] = value
    return result


def _no_constant(name: str) -> NoReturn:
    raise InvalidInput("finite numbers", name)
