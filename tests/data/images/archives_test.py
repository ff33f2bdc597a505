"""Random sets of images in archives of GNU tar, bsdtar and Python, beside the folders that GNU tar unpacks them to: both have the
same images, or both are refused.

    archives_test.py LIST_IMAGES [--count N] [--seed S]
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile

NAMES = ["1.jpg", "two words.JPEG", "é ü.png", "日本.jpg", "a" * 110 + ".png", "note.txt", ".hidden.jpg", "x.webp", "IMG_2.PNG"]
BSDTAR = shutil.which("bsdtar")


class Set:
    """A random folder, with what archives are known to differ in."""

    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.top = rng.choice(["", "", "set", "some/where", "."])
        self.layout(self.top)
        if rng.random() < 0.15:
            self.layout(rng.choice(["second", "set/copy", ".Trash"]))
        if rng.random() < 0.2:
            self.file("train/.ipynb_checkpoints/1.jpg")
        if rng.random() < 0.1:
            self.file("train/a/more/1.jpg")
        if rng.random() < 0.1:
            (folder / self.top / "val/b").mkdir(parents=True, exist_ok=True)
        if rng.random() < 0.05:
            shutil.rmtree(folder / self.top / "val")

    def layout(self, top):
        for split in ("train", "val"):
            for kind in ["a", "b", "ç"][:self.rng.randint(1, 3) if split == "train" else 1]:
                for name in {"0.jpg", *self.rng.sample(NAMES, self.rng.randint(0, 4))}:
                    self.file(f"{split}/{kind}/{name}", top)

    def file(self, name, top=None):
        path = self.folder / (self.top if top is None else top) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        others = [other for other in path.parent.iterdir() if other.is_file()]
        kind = self.rng.random()
        if others and kind < 0.1:
            os.link(others[0], path)
        elif others and kind < 0.2:
            path.symlink_to(others[0].name)
        elif kind < 0.35:
            with path.open("wb") as file:  # with holes
                file.truncate(self.rng.randrange(200_000))
                for _ in range(self.rng.randint(0, 2)):
                    file.seek(self.rng.randrange(200_000))
                    file.write(self.rng.randbytes(self.rng.randint(1, 900)))
        else:
            path.write_bytes(self.rng.randbytes(self.rng.choice([0, 1, 511, 512, 513, 3000])))

    def pack(self, archive):
        entries = sorted(path.name for path in self.folder.iterdir())
        self.rng.shuffle(entries)
        writer = self.rng.choice(["gnu", "bsdtar", "python"] if BSDTAR else ["gnu", "python"])
        if writer == "python":
            self.pack_by_python(archive, entries)
        elif writer == "gnu":
            dot = [f"--transform=s,^,{self.rng.choice(['./', './/', 'top/'])},rSh"] if self.rng.random() < 0.3 else []
            form = self.rng.choice([["--format=gnu"], ["--format=posix"], ["--format=gnu", "--sparse"], ["--format=posix", "--sparse"],
                                    ["--format=posix", "--sparse", f"--sparse-version={self.rng.choice(['0.0', '0.1', '1.0'])}"]])
            call("tar", *form, *dot, "-C", self.folder, "-cf", archive, *entries)
        else:
            call(BSDTAR, f"--format={self.rng.choice(['pax', 'gnutar'])}", "-C", self.folder, "-cf", archive, *entries)
        if self.rng.random() < 0.25:
            self.join(archive, entries)
        return writer

    def pack_by_python(self, archive, entries):
        form = self.rng.choice([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
        prefix = self.rng.choice(["", "", "./", ".//", "/"])
        with tarfile.open(archive, "w", format=form) as tar:
            for entry in entries:
                tar.add(self.folder / entry, arcname=prefix + entry)

    def join(self, archive, entries):
        """Adds the set once more, with a changed file, which counts."""
        files = [path for path in self.folder.rglob("*.jpg") if path.is_file() and not path.is_symlink()]
        changed = self.rng.choice(files)
        changed.unlink()
        changed.write_bytes(self.rng.randbytes(700))
        second = archive.with_suffix(".second")
        call("tar", "--format=gnu", "-C", self.folder, "-cf", second, *entries)
        with archive.open("ab") as file:
            file.write(second.read_bytes())


def call(*arguments):
    subprocess.run([str(each) for each in arguments], check=True, stderr=subprocess.DEVNULL)


def find_top(folder):
    """The folder that a user names: the top, or the only one with train and val; None without."""
    def has_both(path):
        return (path / "train").is_dir() and (path / "val").is_dir()
    if has_both(folder):
        return folder
    folders = [path for path in folder.rglob("*") if path.is_dir() and has_both(path) and
               not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return folders[0] if len(folders) == 1 else None


def difference(list_images, seed, scratch):
    """Why the two differ; empty if they do not."""
    rng = random.Random(seed)
    folder, unpacked, archive = scratch / "made", scratch / "unpacked", scratch / "set.tar"
    for path in (folder, unpacked):
        path.mkdir()
    writer = Set(rng, folder).pack(archive)
    unpacking = subprocess.run(["tar", "--ignore-zeros", "-C", unpacked, "-xf", archive], stderr=subprocess.PIPE)
    if unpacking.returncode != 0:  # such as a hard link that a transformation left without its file
        print(f"seed {seed}, {writer}: not unpacked: {unpacking.stderr.decode().splitlines()[0]}")
        return ""
    top = find_top(unpacked)

    def listed(path):
        done = subprocess.run([list_images, path], check=True, capture_output=True)
        return done.stdout.decode(errors="replace").splitlines()
    found = listed(archive)
    expected = listed(top) if top else ["refused: no folder has both"]
    if found[0].startswith("refused") or expected[0].startswith("refused"):
        return "" if found[0][:7] == expected[0][:7] else f"seed {seed}, {writer}: {found[0]}; the folder: {expected[0]}"
    return "" if found == expected else f"seed {seed}, {writer}: {sorted(set(found) ^ set(expected))[:4]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list_images")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    differences = []
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as scratch:
            differences.append(difference(options.list_images, seed, pathlib.Path(scratch)))
    differences = [each for each in differences if each]
    print(*differences[:10], f"{options.count} archives, {len(differences)} differ", sep="\n")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
