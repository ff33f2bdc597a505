"""How a program begins that stands in for another one in tests of scripts/check_gpu and scripts/check_cpu, and copies of the
sources for the machines that are made up. No test by itself."""

import compileall
import functools
import pathlib
import shutil
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# Each stand-in adds its call to the file CALLS. FAULT, "WHAT@TEXT", happens to calls that contain TEXT. Tests start hundreds of
# them, so each imports only what it needs; module json takes twice as long to load as Python to start.
HEAD = f"""#!{sys.executable} -SE
import os, sys, time
args = sys.argv[1:]
call = " ".join([os.path.basename(sys.argv[0]), *args])
print(call, file=open(os.environ["CALLS"], "a"))
fault, _, text = os.environ.get("FAULT", "").partition("@")
fault = fault if text and text in call else ""
if fault == "hangs":
    time.sleep(60)
if fault == "fails":
    sys.exit("error: no such thing")
if fault == "kills":
    os.kill(os.getppid(), 9)
def json_of(python):
    return repr(python).replace("'", '"').replace("None", "null")
def read_json(path):
    with open(path) as file:
        return eval(file.read(), {{"null": None}})
def value(name, default=""):
    return args[args.index(name) + 1] if name in args else default
"""


@functools.cache
def compiled():
    """A folder for copies whose Python is compiled once, not again on each machine."""
    return tempfile.TemporaryDirectory()


def copy_sources(parts, root):
    for part in parts:
        copy = pathlib.Path(compiled().name) / part
        if not copy.exists():
            shutil.copytree(REPOSITORY / part, copy, ignore=shutil.ignore_patterns("__pycache__"))
            compileall.compile_dir(copy, quiet=1)
        shutil.copytree(copy, root / part)
