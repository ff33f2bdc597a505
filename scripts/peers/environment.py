"""The Python that the scripts of this folder run in: one of this machine that has PyTorch, else an environment that is made
once, with PyTorch from the Python index.

Run as a program, it prints that Python. With --find it installs nothing and prints JSON: python, torch, cuda (whether a GPU is
usable) if one is there, and attempts, what does not do and why. Standard library only, because it runs before anything else is
installed.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

PACKAGES = ("torch", "torchvision", "transformers", "safetensors", "timm==1.0.31")


WORKER_PACKAGES = ("torch", "torchvision")  # of pytorch_case; Hugging Face's classes are used where they are installed
PROBE = ("import json, torch, torchvision; "
         "print(json.dumps({'torch': torch.__version__, 'cuda': torch.cuda.is_available()}))")
PROBE_SECONDS = 300  # an import from a cold disk, beside other jobs


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "epochbench" / "pytorch"


def add_option(parser):
    parser.add_argument("--venv", metavar="DIR", type=pathlib.Path,
                        help="environment with PyTorch, made if it is not there, some 6 GB (default: none where this Python "
                             f"has PyTorch, else {default_folder()})")


def candidates():
    """Where a Python may be, in the order in which they are tried. EPOCHBENCH_PYTHON stands alone: it says which one is meant."""
    if chosen := os.environ.get("EPOCHBENCH_PYTHON"):
        return [chosen]
    folders = [os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    if (default_folder() / "complete.txt").exists():
        folders.append(default_folder())
    inside = [pathlib.Path(folder) / "bin" / "python" for folder in folders if folder]
    return list(dict.fromkeys(map(str, [*inside[:2], sys.executable, *inside[2:]])))


def find():
    """The first that has PyTorch and torchvision: {"python", "torch", "cuda"}, or without these keys; "attempts" has the others."""
    attempts = []
    for python in candidates():
        try:
            probe = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
            if probe.returncode == 0:
                return {"python": python, **json.loads(probe.stdout.splitlines()[-1]), "attempts": attempts}
            reason = (probe.stderr.strip().splitlines() or [f"exit code {probe.returncode}"])[-1]
        except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
            reason = getattr(error, "strerror", None) or f"{type(error).__name__} instead of an answer"
        attempts.append({"python": python, "reason": reason})
    return {"attempts": attempts}


def python(folder, packages=PACKAGES):
    """The path of a Python that has these packages. folder: the environment's, or None."""
    if folder is None and packages == WORKER_PACKAGES and (found := find().get("python")):
        return pathlib.Path(found)
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
    print(json.dumps(find()) if sys.argv[1:] == ["--find"] else python(None, WORKER_PACKAGES))
