"""The Python that the scripts of this folder run in: this one if it has PyTorch, else an environment that is made once, with
PyTorch from the Python index. Run as a program, it prints that Python.

Standard library only, because it runs before anything else is installed.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

PACKAGES = ("torch", "torchvision", "transformers", "safetensors", "timm==1.0.31")


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "epochbench" / "pytorch"


def add_option(parser):
    parser.add_argument("--venv", metavar="DIR", type=pathlib.Path,
                        help="environment with PyTorch, made if it is not there, some 6 GB (default: none where this Python "
                             f"has PyTorch, else {default_folder()})")


def python(folder, packages=PACKAGES):
    """The path of a Python that has these packages. folder: the environment's, or None."""
    if folder is None and all(importlib.util.find_spec(package.partition("==")[0]) for package in packages):
        return pathlib.Path(sys.executable)
    folder = (folder or default_folder()).absolute()
    if pathlib.Path(sys.prefix) == folder:
        return pathlib.Path(sys.executable)
    complete = folder / "complete.txt"  # written last, so that an interrupted installation is repeated
    wanted = "\n".join(PACKAGES) + "\n"
    inside = folder / "bin" / "python"
    if not complete.exists() or complete.read_text() != wanted:
        print(f"making {folder}: {', '.join(PACKAGES)}", file=sys.stderr)
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([inside, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {folder} could not be made ({error}): install python3-venv, "
                     "check the network and the room on the disk, or name another folder (--venv)")
        complete.write_text(wanted)
    return inside


def enter(folder):
    """Continues in such a Python: returns at once if already in it, else starts the program again."""
    path = python(folder)
    if path != pathlib.Path(sys.executable):
        os.execv(path, [path, *sys.argv])


if __name__ == "__main__":
    print(python(None, ("torch", "torchvision")))
