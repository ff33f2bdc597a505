"""The state of a check as a few files that travel from one bare machine to another: records-GENERATION-DIGEST.tar.gz (stamps,
results, logs, tuning choices) and, where there is room, program-DIGEST-DIGEST-NofM.xz. A name carries the digest of its file, so
a copy that was cut off is found. The files of a save are complete when those of the one before are removed, so whenever a call is
killed, the folder has one state or two, and the later one is loaded.
"""

import hashlib
import io
import json
import lzma
import pathlib
import re
import shutil
import tarfile

from gpu_room import Files

PART_BYTES = 16 * 2 ** 20 - 1  # of each file
PROGRAM_PARTS = 2
TRAVELING_BYTES = 60 * 2 ** 20  # sources, pack and state together
LOG_BYTES = 256 * 2 ** 10  # of each log, its end
RECORDS = re.compile(r"records-(\d+)-([0-9a-f]{16})\.tar\.gz")
CHOICES = re.compile(r"cache/epochbench/choices-\d+\.json")
PROGRAM = re.compile(r"program-([0-9a-f]{16})-([0-9a-f]{16})-(\d)of(\d)\.xz")


class StateError(Exception):
    """One line: what is wrong, where, and how to fix it."""


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def write(path, data):
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data)
    new.replace(path)


def checked(path, expected):
    data = path.read_bytes()
    if digest(data) != expected:
        raise StateError(f"{path} is damaged: copy it again, or name another --state to begin again")
    return data


def bytes_of_sources(root):
    """The bytes of the files in a copy of the work tree: no build folder, no repository, no cache."""
    skipped = re.compile(r"build($|-)|\.git$|\.cache$")
    return sum(path.stat().st_size for top in root.iterdir() if not skipped.match(top.name)
               for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file() and not path.is_symlink()
               and "__pycache__" not in path.parts)


def records_in(folder):
    """[(name, content)]: what the last save in a state's folder has; None if there is none."""
    found = sorted(((int(match[1]), match[2], path) for path in folder.iterdir() if (match := RECORDS.fullmatch(path.name))))[-1:]
    if not found:
        return None
    _, expected, path = found[0]
    try:
        with tarfile.open(fileobj=io.BytesIO(checked(path, expected))) as archive:
            members = [(member.name, archive.extractfile(member).read()) for member in archive if member.isreg()]
    except (tarfile.TarError, EOFError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(":")
        raise StateError(f"{path} is not a state of check_gpu ({reason}): copy it again, or name another --state") from error
    for name, _ in members:
        if pathlib.PurePosixPath(name).is_absolute() or ".." in pathlib.PurePosixPath(name).parts:
            raise StateError(f"{path} contains the path {name}, which leaves its folder: it is not a state of check_gpu")
    return members


def take_choices(folder, into):
    """Copies the choices of algorithms from a state, whatever sources it is of, to a folder of records. The folder's own files are
    kept."""
    try:
        records = records_in(pathlib.Path(folder))
    except OSError as error:
        raise StateError(f"{folder} cannot be read as --choices ({error.strerror}): name the folder of a --state") from error
    choices = [(name, data) for name, data in records or [] if CHOICES.fullmatch(name)]
    if not choices:
        raise StateError(f"{folder} contains no choices of algorithms: name the folder of a --state that has run a command on a GPU")
    for name, data in choices:
        if not (into / name).exists():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            write(into / name, data)


class State:
    """folder: of these files. others: bytes of sources and pack, which travel beside them. suites: names of their result files."""

    def __init__(self, folder, others, say, suites):
        self.folder, self.others, self.say, self.suites = pathlib.Path(folder), others, say, suites
        self.records_of, self.level = None, 0  # the Files that are saved, and at which of their levels they had room
        self.reported = set()
        self.program_saved = None  # size and time of the program that the folder has
        self.program_digest = None  # in the names of its parts
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for torn in [*self.folder.glob(".records-*.new"), *self.folder.glob(".program-*.new")]:
                torn.unlink()
        except OSError as error:
            raise StateError(f"{self.folder} cannot be used as --state ({error.strerror})") from error
        if self.bytes() + others > TRAVELING_BYTES:
            raise StateError(f"sources, pack and state have {(self.bytes() + others) / 2 ** 20:.0f} MiB, more than "
                             f"{TRAVELING_BYTES >> 20}: make the pack smaller, or name another --state")

    def files(self, pattern):
        """[(match of the name, path)]"""
        return sorted(((match, path) for path in self.folder.iterdir() if (match := pattern.fullmatch(path.name))),
                      key=lambda found: found[1].name)

    def newest(self):
        """[(match, path)]: the records of the last save, if there are any."""
        return sorted(self.files(RECORDS), key=lambda each: int(each[0][1]))[-1:]

    def newest_program(self):
        """[(match, path)]: the parts, in order, of the last program that has all of them, if there is one."""
        programs = {}
        for match, path in sorted(self.files(PROGRAM), key=lambda each: int(each[0][3])):
            programs.setdefault(match[1], []).append((match, path))
        complete = [parts for parts in programs.values() if len(parts) == int(parts[0][0][4])]
        return max(complete, key=lambda parts: max(path.stat().st_mtime_ns for _, path in parts), default=[])

    def bytes(self):
        return sum(path.stat().st_size for _, path in self.newest() + self.newest_program())

    def facts(self):
        """The facts that were saved; None if there are none."""
        text = dict(records_in(self.folder) or []).get("state.json")
        return json.loads(text) if text else None

    def load(self, into, program):
        """Unpacks the records into a folder in place of what it has, and the program if there is one, unless `program` is None.
        False: nothing is there."""
        records = records_in(self.folder)
        if records is None:
            return False
        shutil.rmtree(into / "stamps", ignore_errors=True)
        for name, data in records:
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if program:
            self.load_program(program)
        return True

    def load_program(self, program):
        parts = self.newest_program()
        if not parts:
            if self.files(PROGRAM):
                self.report(f"the program in {self.folder} lacks a part: it is left out, and built again")
            return
        data = lzma.decompress(b"".join(checked(path, match[2]) for match, path in parts))
        program.parent.mkdir(parents=True, exist_ok=True)
        write(program, data)
        program.chmod(0o755)
        self.program_saved, self.program_digest = key_of(program), parts[0][0][1]

    def save(self, source, program):
        """source: the folder with the records. program: its path; it may be missing."""
        if program.exists() and key_of(program) != self.program_saved:
            self.save_program(program)
        generation = 1 + max((int(match[1]) for match, _ in self.files(RECORDS)), default=0)
        data = self.archive(source)
        if data is None:
            return self.report("the stamps and the record have more than 16 MiB: the state is not saved")
        write(self.folder / f"records-{generation:06d}-{digest(data)}.tar.gz", data)
        for match, path in self.files(RECORDS):
            if int(match[1]) < generation:
                path.unlink()
        for match, path in self.files(PROGRAM):
            if match[1] != self.program_digest:
                path.unlink()

    def archive(self, source):
        """As much of the folder as fits; None if nothing does."""
        self.records_of = self.records_of or Files(source, self.suites)
        paths = sorted(path for path in source.rglob("*") if path.is_file() and not path.is_symlink())
        for level, (left_out, kept, short) in enumerate(self.records_of.levels(paths)):
            if level < self.level:  # what did not fit before does not fit this time
                continue
            data = archive_of(source, [(path, self.records_of.read(path, short)) for path in kept])
            if len(data) <= PART_BYTES:
                if left_out:
                    self.report(f"left out of the state, which would have more than 16 MiB: {left_out}; see {source}")
                self.level = level
                return data
        return None

    def save_program(self, program):
        self.program_saved, self.program_digest = key_of(program), None
        data = lzma.compress(program.read_bytes(), preset=1)
        room = min(PROGRAM_PARTS * PART_BYTES, TRAVELING_BYTES - self.others - PART_BYTES)
        if len(data) > room:
            self.report(f"the program, {len(data) / 2 ** 20:.0f} MiB, is left out of the state: there is room for "
                        f"{max(0, room) / 2 ** 20:.0f} MiB, and the next machine builds it again")
            return
        parts = [data[begin:begin + PART_BYTES] for begin in range(0, len(data), PART_BYTES)]
        for number, part in enumerate(parts, 1):
            write(self.folder / f"program-{digest(data)}-{digest(part)}-{number}of{len(parts)}.xz", part)
        self.program_digest = digest(data)

    def report(self, message):
        if message not in self.reported:
            self.reported.add(message)
            self.say(message)


def key_of(program):
    return program.stat().st_size, program.stat().st_mtime_ns


def archive_of(source, files):
    """files: [(path, content)]"""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        for path, data in files:
            name = path.relative_to(source)
            data = data[-LOG_BYTES:] if name.parts[0] == "logs" else data
            member = tarfile.TarInfo(name.as_posix())
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()
