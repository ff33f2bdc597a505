#!/usr/bin/env python3
"""Checks that kernels compiled for one instruction set share no code with the rest of the program.

usage: kernel_symbols.py NM NAMESPACE OBJECT...

The linker would merge a weak symbol outside the namespace (such as an inline function of the standard library) with its
copies elsewhere, so a CPU without the instructions could run code that uses them. AMX takes from AVX-512 only what it does not
have itself.
"""
import re
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
        if kind == "C":  # data, which has no instructions: the lock of clang's reductions
            continue
        defined += 1
        if f"{namespace}::" not in name:
            foreign.append(f"{kind} {name}")
    return defined, foreign


def replaced_symbols(nm, namespace, objects):
    """Kernels of another instruction set that are used although NAMESPACE defines them."""
    def names(kind):
        listing = subprocess.run([nm, "--demangle", kind, *objects], check=True, capture_output=True, text=True).stdout
        return {match[1] for match in re.finditer(r"^[0-9a-f ]+ \w (epochbench::cpu::.*)$", listing, re.M)}

    own = {name.removeprefix(f"{namespace}::") for name in names("--defined-only") if name.startswith(f"{namespace}::")}
    others = {name for name in names("--undefined-only") if not name.startswith(f"{namespace}::")}
    return [name for name in others if name.split("::", 3)[-1] in own]


def main():
    nm, namespace, *objects = sys.argv[1:]
    defined, foreign = foreign_symbols(nm, namespace, objects)
    if defined == 0:
        sys.exit(f"no symbols found in {len(objects)} objects of {namespace}")
    if foreign:
        sys.exit(f"outside of {namespace}:\n" + "\n".join(sorted(set(foreign))))
    if replaced := replaced_symbols(nm, namespace, objects):
        sys.exit(f"{namespace} has its own (list them in kernels/cpu/table.cpp):\n" + "\n".join(sorted(replaced)))


if __name__ == "__main__":
    main()
