#!/usr/bin/env python3
"""Checks what the kernels of a .cu file take of a multiprocessor: cuda_resources.py COMPILE_COMMANDS FILE

The build keeps what nvcc --resource-usage prints beside the object (cmake/keep_output), for every architecture that it has code
for; COMPILE_COMMANDS (compile_commands.json) says where. No kernel may use local memory: neither for spilled registers nor for
an array. Registers and shared memory must leave room for the blocks that it is to run on a multiprocessor at once. These are
the second argument of its __launch_bounds__, which its PTX states; without one, those of NEEDS, or enough for THREADS.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

# Threads per multiprocessor of a kernel that states no blocks. They bound how much is in flight: with two loads of 16 bytes
# each, 32 KB, which is more than hides the latency of the memory of an H200 (kPacks of activation.cu).
THREADS = 1024
LEAST_THREADS = 256  # that a kernel may state: 2 warps for each of the 4 schedulers

# Kernel -> blocks per multiprocessor, and why fewer than THREADS are enough.
NEEDS = {
    "finish_moments_kernel": (1, "a warp per channel reads a few hundred numbers: the launch is its time"),
    "seed_kernel": (1, "one thread"),
    "set_kernel": (1, "one thread"),
    "update_loss_scale_kernel": (1, "one thread"),
    "increment_kernel": (1, "one thread"),
    "record_step_kernel": (1, "one thread"),
    "begin_waiting_kernel": (1, "one thread"),
    "end_waiting_kernel": (1, "one thread"),
    "record_waiting_kernel": (1, "one thread"),
}

WARP, REGISTERS, REGISTERS_PER_THREAD = 32, 65536, 8  # of a multiprocessor; a warp gets a multiple of 8 per thread
KIB = 1024
# Architecture -> threads and shared memory of a multiprocessor, and shared memory that each block takes besides its own.
# 80 stands for 8.0, 8.6 and 8.9, which run its code: the least of the three. Others are as the next lower one here.
MULTIPROCESSORS = {
    75: (1024, 64 * KIB, 0),
    80: (1536, 100 * KIB, KIB),
    90: (2048, 228 * KIB, KIB),
    100: (2048, 228 * KIB, KIB),
    120: (1536, 100 * KIB, KIB),
}


class Bounds(NamedTuple):  # what __launch_bounds__ states; None: nothing
    threads: int | None
    blocks: int | None


class Usage(NamedTuple):
    name: str  # as the compiler writes it
    architecture: int
    registers: int
    shared: int  # bytes per block
    stack: int  # bytes of local memory per thread
    spilled: int  # bytes of spill stores and loads


def usages(text):
    """The Usage of each kernel in what nvcc --resource-usage prints."""
    found = []
    for part in re.split(r"^ptxas info\s*: Compiling entry function ", text, flags=re.M)[1:]:
        name, architecture = re.match(r"'(\S+)' for 'sm_(\d+)\w*'", part).groups()
        stack, stores, loads = map(int, re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        shared = re.search(r"(\d+) bytes smem", part)
        registers = re.search(r"Used (\d+) registers", part)
        found.append(Usage(name, int(architecture), int(registers[1]), int(shared[1]) if shared else 0, stack, stores + loads))
    return found


def bounds(ptx):
    """The Bounds of each kernel by name."""
    found = {}
    for name, directives in re.findall(r"\.entry (\w+)\([^)]*\)([^{]*)\{", ptx):
        threads = re.search(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
        blocks = re.search(r"\.minnctapersm\s+(\d+)", directives)
        count = None
        if threads:
            count = 1
            for extent in threads.groups():
                count *= int(extent or 1)
        found[name] = Bounds(count, int(blocks[1]) if blocks else None)
    return found


def kernel_name(name):
    """The last identifier of a name in a namespace, such as "fill_kernel", from the compiler's name of it."""
    at, last = len("_ZN"), name
    while match := re.match(r"\d+", name[at:]):
        begin = at + len(match[0])
        at = begin + int(match[0])
        last = name[begin:at]
    return last


def findings(usage, stated):
    """What is wrong with a kernel, one line for each."""
    if stated.threads is None:
        return ["states no __launch_bounds__"]
    found = []
    if usage.stack or usage.spilled:
        found.append(f"uses {usage.stack} bytes of local memory per thread, {usage.spilled} of them for spills")
    threads = -(-stated.threads // WARP) * WARP
    blocks = stated.blocks
    if blocks is None:
        blocks = NEEDS.get(kernel_name(usage.name), (-(-THREADS // stated.threads),))[0]
    elif threads * blocks < LEAST_THREADS:
        found.append(f"states {blocks} blocks of {stated.threads} threads, fewer than {LEAST_THREADS} per multiprocessor")
    allowed = REGISTERS // (threads * blocks) // REGISTERS_PER_THREAD * REGISTERS_PER_THREAD
    if usage.registers > allowed:
        found.append(f"uses {usage.registers} registers; {blocks} blocks of {stated.threads} threads leave {allowed}")
    max_threads, shared, of_block = MULTIPROCESSORS[max(a for a in MULTIPROCESSORS if a <= usage.architecture)]
    if threads * blocks > max_threads:
        found.append(f"wants {blocks} blocks of {stated.threads} threads; a multiprocessor has {max_threads}")
    if (usage.shared + of_block) * blocks > shared:
        found.append(f"uses {usage.shared} bytes of shared memory per block; {blocks} blocks have {shared} in all")
    return found


def nvcc_command(commands, file):
    """nvcc's command for a file in compile_commands.json, without architectures and outputs; its folder, the architectures with
    machine code, and the object."""
    for entry in json.loads(pathlib.Path(commands).read_text()):
        arguments = shlex.split(entry["command"]) if "command" in entry else entry["arguments"]
        compilers = [i for i, argument in enumerate(arguments) if os.path.basename(argument) == "nvcc"]
        if not compilers or os.path.realpath(entry["file"]) != os.path.realpath(file):
            continue
        kept, skip = [], False
        for argument in arguments[compilers[0]:]:
            if not skip and not re.match(r"--?generate-code|-gencode|-arch|-o$|-c$|-M[DTF]?$", argument):
                kept.append(argument)
            skip = argument in ("-o", "-MT", "-MF", "-gencode", "--generate-code")
        folder = entry["directory"]
        architectures = [int(architecture) for architecture in re.findall(r"\bsm_(\d+)", " ".join(arguments))]
        return kept, folder, architectures, os.path.join(folder, arguments[arguments.index("-o") + 1])
    sys.exit(f"{commands} has no nvcc command for {file}")


def readable(name):
    if shutil.which("c++filt"):
        name = subprocess.run(["c++filt", name], check=True, capture_output=True, text=True).stdout.strip()
    return re.sub(r"epochbench::cuda::|\(anonymous namespace\)::|^void |\([^()]*(\([^()]*\)[^()]*)*\)$", "", name)


def main():
    commands, file = sys.argv[1:]
    command, folder, architectures, built = nvcc_command(commands, file)
    try:
        printed = pathlib.Path(f"{built}.output").read_text()
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing: remove {built} and build again")
    found = usages(printed)
    compiled = {usage.architecture for usage in found}
    if not compiled or not compiled >= set(architectures):
        sys.exit(f"no kernels for some of {architectures}:\n{printed}")
    with tempfile.NamedTemporaryFile(suffix=".ptx") as ptx:  # the bounds are the same for all architectures
        command += ["-ptx", f"-arch=compute_{min(compiled)}", "-o", ptx.name]
        run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            sys.exit(f"{shlex.join(command)}\n{run.stdout}")
        stated = bounds(pathlib.Path(ptx.name).read_text())
    wrong = 0
    for usage in found:
        for finding in findings(usage, stated[usage.name]):
            print(f"sm_{usage.architecture} {readable(usage.name)}: {finding}")
            wrong += 1
    most = max(found, key=lambda usage: usage.registers)
    print(f"{len(found)} kernels, at most {most.registers} registers: sm_{most.architecture} {readable(most.name)}")
    if wrong:
        sys.exit(f"{wrong} findings")


if __name__ == "__main__":
    main()
