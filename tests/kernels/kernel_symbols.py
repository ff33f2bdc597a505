#!/usr/bin/env python3
"""Checks that kernels compiled for one instruction set share no code with the rest of the program.

usage: kernel_symbols.py NM NAMESPACE OBJECT...

The linker would merge a weak symbol outside the namespace (such as an inline function of the standard library) with its
copies elsewhere, so a CPU without the instructions could run code that uses them.
"""
import subprocess
import sys


def foreign_symbols(nm, namespace, objects):
    listing = subprocess.run([nm, "--demangle", "--defined-only", *objects], check=True, capture_output=True, text=True).stdout
    defined = 0
    foreign = []
    for line in listing.splitlines():
        fields = line.split(maxsplit=2)
        if len(fields) != 3:
            continue
        kind, name = fields[1], fields[2]
        if kind.islower() and kind not in "wvu":  # local to its object
            continue
        defined += 1
        if f"{namespace}::" not in name:
            foreign.append(f"{kind} {name}")
    return defined, foreign


def main():
    nm, namespace, *objects = sys.argv[1:]
    defined, foreign = foreign_symbols(nm, namespace, objects)
    if defined == 0:
        sys.exit(f"no symbols found in {len(objects)} objects of {namespace}")
    if foreign:
        sys.exit(f"outside of {namespace}:\n" + "\n".join(sorted(set(foreign))))


if __name__ == "__main__":
    main()
