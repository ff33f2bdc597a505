"""How a program begins that stands in for another one in tests of scripts/check_gpu and scripts/check_cpu. No test by itself."""

import sys

# Each stand-in adds its call to the file CALLS. FAULT, "WHAT@TEXT", happens to calls that contain TEXT.
HEAD = f"""#!{sys.executable} -SE
import json, os, pathlib, signal, sys, time
args = sys.argv[1:]
call = " ".join([pathlib.Path(sys.argv[0]).name, *args])
print(call, file=open(os.environ["CALLS"], "a"))
fault, _, text = os.environ.get("FAULT", "").partition("@")
fault = fault if text and text in call else ""
if fault == "hangs":
    time.sleep(60)
if fault == "fails":
    sys.exit("error: no such thing")
if fault == "kills":
    os.kill(os.getppid(), signal.SIGKILL)
def value(name, default=""):
    return args[args.index(name) + 1] if name in args else default
"""
