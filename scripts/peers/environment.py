"""The Python environment that the scripts of this folder run in: made once, with PyTorch from the Python index.

Standard library only, as it runs before there is anything else.
"""

import os
import pathlib
import subprocess
import sys

PACKAGES = ("torch", "torchvision", "transformers", "safetensors")


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "epochbench" / "pytorch"


def add_option(parser):
    parser.add_argument("--venv", metavar="DIR", type=pathlib.Path, default=default_folder(),
                        help="environment with PyTorch, made if it is not there, some 6 GB (default %(default)s)")


def enter(folder):
    """Goes on in the environment: returns at once inside it, else makes it and starts the program anew."""
    folder = folder.absolute()
    if pathlib.Path(sys.prefix) == folder:
        return
    complete = folder / "complete.txt"  # written last, so that a broken-off installation is taken up again
    wanted = "\n".join(PACKAGES) + "\n"
    python = folder / "bin" / "python"
    if not complete.exists() or complete.read_text() != wanted:
        print(f"making {folder}: {', '.join(PACKAGES)}", file=sys.stderr)
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {folder} could not be made ({error}): install python3-venv, "
                     "check the network and the room on the disk, or name another folder (--venv)")
        complete.write_text(wanted)
    os.execv(python, [python, *sys.argv])
