"""What scripts/check_cpu reads from the machine: its CPU as lscpu describes it, and the physical cores that may be used."""

import os
import pathlib
import re
import subprocess

from gpu_machine import cpu_name

DESCRIBED = ("Vendor ID", "CPU family", "Model", "Stepping", "CPU max MHz", "Hypervisor vendor", "NUMA node(s)")
CACHES = ("L1d cache", "L1i cache", "L2 cache", "L3 cache")
# The instruction sets that have products in bf16 and in int8 (kernels/cpu/kernels.h).
FLAGS = {"bf16": {"avx512_bf16", "amx_bf16"}, "int8": {"avx2", "avx_vnni", "avx512_vnni", "amx_int8"}}


def lscpu():
    """The fields of lscpu; none if the program is missing."""
    try:
        done = subprocess.run(["lscpu"], capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def describe(fields):
    """What is kept about the machine, with nothing that identifies its owner."""
    return {"name": fields.get("Model name") or cpu_name(), "cores": physical_cores(), "logical_cpus": len(os.sched_getaffinity(0)),
            "described": {key: fields[key] for key in DESCRIBED if key in fields},
            "caches": {key.split()[0]: fields[key] for key in CACHES if key in fields},
            **{precision: bool(flags & set(fields.get("Flags", "").split())) for precision, flags in FLAGS.items()}}


def physical_cores(allowed=None, system="/sys/devices/system/cpu"):
    """The number of cores with a CPU that may be used; of CPUs where the system does not name their core."""
    cores = set()
    for cpu in allowed or os.sched_getaffinity(0):
        folder = pathlib.Path(system) / f"cpu{cpu}" / "topology"
        try:
            cores.add(((folder / "physical_package_id").read_text(), (folder / "core_id").read_text()))
        except OSError:
            cores.add(cpu)
    return len(cores)


def slug(cpu):
    """For names of files: `Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz` becomes intel-xeon-gold-6226r."""
    text = re.sub(r"\((?:r|tm)\)|@.*| (?:cpu|processor)\b|\d+-core", " ", cpu.lower())
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-") or "cpu"
