"""Shared by take_turns and train_pytorch: they find a Python that has PyTorch and call epochbench with it as a worker.

Standard library only.
"""

import argparse
import os
import pathlib
import sys

import environment

HERE = pathlib.Path(__file__).resolve().parent


def default_binary():
    """epochbench of the checkout that has this folder, or of the installation whose share/epochbench/peers it is."""
    built = HERE.parents[1] / "build" / "epochbench"
    installed = HERE.parents[2] / "bin" / "epochbench"
    return installed if installed.exists() and not built.exists() else built


def call_epochbench(description, command, arguments, environ=None):
    """Replaces this process by `epochbench COMMAND`. epochbench checks the options that this script does not know."""
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0], add_help=False,
                                     epilog="Other options are those of epochbench, which checks them.")
    parser.add_argument("-h", "--help", action="store_true", help="this help, then epochbench's")
    parser.add_argument("--binary", metavar="FILE", type=pathlib.Path, default=default_binary(),
                        help="epochbench (default: build/epochbench)")
    environment.add_option(parser)
    options, others = parser.parse_known_args()
    if options.help:
        print(parser.format_help(), flush=True)
        others, worker = ["--help"], []
    else:
        python = environment.python(options.venv, environment.WORKER_PACKAGES)
        worker = ["--worker", python, HERE / "pytorch_case"]
    call = [options.binary.absolute(), command, *arguments, *others, *worker]
    try:
        os.execve(call[0], call, environ or os.environ)
    except OSError as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: {options.binary} cannot be run ({error.strerror}): build it (scripts/run), "
              "or name it with --binary", file=sys.stderr)
        sys.exit(2)
