"""What scripts/check_gpu reads from the machine: its GPU, driver, toolkit and CPU."""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess

LOWEST_CAPABILITY = (7, 5)


class NoGpu(Exception):
    """One line: why no GPU of this machine can be used, and what to do."""


def output_of(*command):
    """Exit code and output; raises NoGpu if the program cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoGpu(f"{command[0]} failed ({error})") from error
    return done.returncode, done.stdout + done.stderr


def find_gpu():
    """The GPU that is cuda:0: name, compute capability, driver and memory. On a divided card it is an instance (MIG), with its name
    as CUDA states it and its part of the memory."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if not visible:
        raise NoGpu("CUDA_VISIBLE_DEVICES is empty, which hides every GPU: unset it")
    card, instance = selected(visible, output_of("nvidia-smi", "-L")[1])
    code, text = output_of("nvidia-smi", f"--id={card}", "--query-gpu=compute_cap,name,driver_version,memory.total",
                           "--format=csv,noheader")
    lines = text.strip().splitlines()
    if code != 0 or not lines:
        reason = " ".join(text.split()) or f"exit code {code}"
        raise NoGpu(f"nvidia-smi lists no GPU ({reason[:200]})")
    fields = [field.strip() for field in lines[0].split(",")]
    if len(fields) != 4 or not re.fullmatch(r"\d+\.\d+", fields[0]):
        raise NoGpu(f"nvidia-smi describes the GPU in another way than expected: {lines[0][:200]}")
    capability, name, driver, memory = fields
    if tuple(map(int, capability.split("."))) < LOWEST_CAPABILITY:
        raise NoGpu(f"{name} has compute capability {capability}, and epochbench needs 7.5 or later, since CUDA 13 and current versions "
                    "of cuDNN support no older one")
    check_driver(driver)
    mib = re.match(r"\d+", memory)
    memory_bytes = int(mib[0]) * 2 ** 20 if mib else 0
    if instance:
        name, memory_bytes = f"{name} MIG {instance}", memory_of_instance(instance)
    return {"name": name, "capability": capability, "driver": driver, "memory_bytes": memory_bytes}


def selected(visible, listed):
    """What CUDA shows first: (index or UUID of the card, profile of its instance such as 3g.20gb or None). visible: an index, or a
    UUID of a card or an instance. listed: what `nvidia-smi -L` prints, instances below their card."""
    cards = []  # (index, UUID, [(profile, UUID)])
    for line in listed.splitlines():
        if found := re.match(r"GPU (\d+): .*\(UUID: ([^)]+)\)", line):
            cards.append((found[1], found[2], []))
        elif (found := re.match(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: ([^)]+)\)", line)) and cards:
            cards[-1][2].append((found[1], found[2]))
    for index, uuid, instances in cards:
        for profile, instance in instances:
            if instance == visible:
                return uuid, profile
        if visible == index or (visible.startswith("GPU-") and uuid.startswith(visible)):
            return visible, instances[0][0] if instances else None  # CUDA shows a process the first instance of a divided card
    if visible.startswith("MIG-"):
        raise NoGpu(f"CUDA_VISIBLE_DEVICES is {visible}, which is not an instance that nvidia-smi -L lists: name one of those")
    return visible, None


def memory_of_instance(profile):
    """Bytes, by a profile such as 3g.20gb or 1g.10gb+me; 0 where it states none."""
    found = re.search(r"(\d+)gb", profile)
    return int(found[1]) * 10 ** 9 if found else 0


def check_driver(driver):
    """A driver runs the CUDA versions up to its own; within one major version also later ones."""
    found = re.search(r"CUDA (?:\w+ )?Version\s*:\s*(\d+)\.(\d+)", output_of("nvidia-smi")[1])
    nvcc = find_nvcc()
    toolkit = re.search(r"release (\d+)\.(\d+)", output_of(nvcc, "--version")[1]) if nvcc else None
    if found and toolkit and int(found[1]) < int(toolkit[1]):
        raise NoGpu(f"driver {driver} is too old: it runs CUDA {found[1]}.{found[2]}, and {nvcc} is of CUDA {toolkit[1]}.{toolkit[2]}; "
                    "update the driver, or name an older toolkit as CUDA_HOME")


def find_nvcc():
    if os.environ.get("CUDA_HOME"):
        return shutil.which("nvcc", path=str(pathlib.Path(os.environ["CUDA_HOME"]) / "bin"))
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def cpu_name():
    """With the numbers of its kind, because hypervisors give CPUs of different speed the same name."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = {key: re.search(rf"^{key}[ \t]*:[ \t]*(.+)$", text, re.MULTILINE) for key in ("model name", "cpu family", "model", "stepping")}
    if not found["model name"]:
        return platform.machine()
    kind = ", ".join(f"{key.removeprefix('cpu ')} {value[1]}" for key, value in found.items() if value and key != "model name")
    return found["model name"][1].strip() + (f" ({kind})" if kind else "")


def why_it_does_not_work(program, environment):
    """None, or why a program built elsewhere does not find what it needs here: `info` loads CUDA's libraries."""
    try:
        done = subprocess.run([program, "info", "--json"], capture_output=True, text=True, env=environment, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode != 0:
        return " ".join(done.stderr.split())[-200:] or f"exit code {done.returncode}"
    try:
        info = json.loads(done.stdout)
        return None if info["gpus"] else info.get("gpus_reason") or "it sees no GPU"
    except (ValueError, LookupError, TypeError) as error:
        return f"its info cannot be read ({error})"
