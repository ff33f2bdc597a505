#!/usr/bin/env python3
"""How many multiply-adds per cycle a kernel's inner loop starts on Neoverse V1 and V2, by llvm-mca's models of them.

usage: fma_throughput.py [--mca PROGRAM] [--objdump PROGRAM] [--least PERCENT] OBJECT INSTRUCTION FUNCTION

The inner loop is the longest run of instructions without a branch that has most INSTRUCTIONs, in the function of OBJECT whose
demangled name contains FUNCTION. It is compared with independent INSTRUCTIONs alone. llvm-mca knows latencies, ports and widths,
and takes every load for one that the L1 cache answers.

Exit code: 0 if every processor reaches PERCENT, 1 if one does not, 2 if there is nothing to measure.
"""
import argparse
import re
import subprocess
import sys

PROCESSORS = "neoverse-v1", "neoverse-v2"
BRANCH = re.compile(r"b(\..*)?$|bl$|br$|ret$|cbn?z$|tbn?z$")
LINE = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)")
REGISTERS = range(1, 32)  # accumulators of the independent ones; more than latency times throughput


def instructions(listing, function):
    """(address, mnemonic, operands) of the first function whose name contains `function`."""
    found = []
    inside = False
    for line in listing.splitlines():
        if re.match(r"[0-9a-f]+ <", line):
            if found:
                break
            inside = function in line
        elif inside and (match := LINE.match(line)):
            found.append((int(match[1], 16), match[2], match[3]))
    return found


def inner_loop(code, instruction):
    """The block without branches, in or out, that has most of `instruction`."""
    targets = {int(match[1], 16) for _, name, operands in code
               if BRANCH.match(name) and (match := re.search(r"\b([0-9a-f]+) <", operands))}
    blocks = [[]]
    for address, name, operands in code:
        if address in targets:
            blocks.append([])
        if BRANCH.match(name):
            blocks.append([])
        else:
            blocks[-1].append((name, re.sub(r"\s*(//|<).*", "", operands)))
    return max(blocks, key=lambda block: sum(name == instruction for name, _ in block))


def cycles(mca, processor, text, iterations):
    command = [mca, "-mtriple=aarch64", f"-mcpu={processor}", f"-iterations={iterations}"]
    output = subprocess.run(command, input=".arch armv8.6-a\n" + text, check=True, capture_output=True, text=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", output)[1]) / iterations


def independent(instruction):
    lanes = "8h" if instruction.startswith("bf") else "4s"
    return "".join(f"{instruction} v{register}.4s, v0.{lanes}, v0.{lanes}\n" for register in REGISTERS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mca", default="llvm-mca")
    parser.add_argument("--objdump", default="aarch64-linux-gnu-objdump")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("object")
    parser.add_argument("instruction")
    parser.add_argument("function")
    arguments = parser.parse_args()
    listing = subprocess.run([arguments.objdump, "--disassemble", "--demangle", "--no-show-raw-insn", arguments.object],
                             check=True, capture_output=True, text=True).stdout
    code = instructions(listing, arguments.function)
    block = inner_loop(code, arguments.instruction) if code else []
    count = sum(name == arguments.instruction for name, _ in block)
    if count == 0:
        print(f"{arguments.object}: no {arguments.instruction} in a function named {arguments.function}", file=sys.stderr)
        return 2
    text = "".join(f"{name} {operands}\n" for name, operands in block)
    enough = True
    for processor in PROCESSORS:
        reached = count / cycles(arguments.mca, processor, text, 200)
        most = len(REGISTERS) / cycles(arguments.mca, processor, independent(arguments.instruction), 4000)
        enough = enough and 100 * reached / most >= arguments.least
        print(f"{processor}: {count} {arguments.instruction} of {len(block)} instructions, {reached:.2f} per cycle of "
              f"{most:.2f}: {100 * reached / most:.1f} %")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
