"""A machine that is made up: nvidia-smi, nvcc, cmake, ctest, compute-sanitizer, epochbench and PyTorch's peer are stand-ins, so
that calls, stamps, the state and the verdicts of scripts/check_gpu are tested without a GPU. Nothing is measured here."""

import pathlib
import shutil
import subprocess
import sys

from stand_in import HEAD, copy_sources

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

NVIDIA_SMI = """
if args == ["-L"]:
    print(os.environ.get("CARDS", "GPU 0: a card (UUID: GPU-1a2b3c)"))
    sys.exit()
card = os.environ.get("CARD", "9.0, NVIDIA H100 80GB HBM3, 600.1, 81559 MiB")
print(card if args else "| NVIDIA-SMI 600.1   Driver Version: 600.1   CUDA Version: 12.8 |")
"""
DIVIDED = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1a2b3c)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-99ff)
  MIG 3g.20gb     Device  0: (UUID: MIG-3f0c)
  MIG 4g.47gb     Device  1: (UUID: MIG-77aa)
"""
NVCC = 'print("Cuda compilation tools, release " + os.environ.get("TOOLKIT", "12.8") + ", V12.8.20")\n'
# The build leaves the stand-in of epochbench behind.
CMAKE = """
if args[0] == "--build":
    if "epochbench" in args:
        import shutil
        shutil.copy2(os.environ["EPOCHBENCH_STAND_IN"], args[1] + "/epochbench")
else:
    os.makedirs(value("-B"), exist_ok=True)
"""
CTEST = """
skipped = ["Gpu.Parity"] if fault == "skips" else []
if os.environ.get("CARD", "9").startswith("7"):
    skipped += ["gpu.Models/GpuPrecision.Losses/mlp_bf16", "gpu.Precisions/GpuLearning.LearnsDigits/tf32"]
if skipped:
    print("The following tests did not run:" + "".join(f"\\n\\t  3 - {name} (Skipped)" for name in skipped))
"""
SANITIZER = """
log = open(value("--log-file").replace("%p", str(os.getpid())), "w")
log.write("========= COMPUTE-SANITIZER\\n" + ("========= Invalid read\\n=========     at epochbench::sum()\\n" if fault else "") +
          f"========= ERROR SUMMARY: {1 if fault else 0} errors\\n")
"""
# Runs of every case asked for; exit code 2 for a precision that the call names and the card does not have. The GPU's losses
# differ from the CPU's by 1e-6. Choices are stored where the program stores them.
EPOCHBENCH = """
if args == ["--version"]:
    sys.exit()
if args[0] == "info":
    gpu = {"name": "H100", "cuda": "12.8", "cublas": "12.8.4", "cudnn": "9.19.0"}
    print(json_of({"gpus": [] if fault == "sees none" else [gpu], "gpus_reason": "none built"}))
    sys.exit()
if args[0] == "answers":
    print("answers from " + args[1])
    sys.exit()
absent = {"tf32", "bf16"} & set(value("--precision").split(",")) if os.environ.get("CARD", "9").startswith("7") else ()
if absent and value("--suite") == "":
    sys.exit(2)
choices = os.environ["XDG_CACHE_HOME"] + "/epochbench"
os.makedirs(choices, exist_ok=True)
print(call, file=open(choices + "/choices-3.json", "a"))
out = value("--out") or value("--resume")
before = os.path.exists(out)
runs = [run for run in read_json(out)["runs"] if run["status"] == "ok"] if before else []
for model in value("--model", "resnet50").split(","):
  for device in value("--device", "cpu").split(","):
    for precision in value("--precision", "fp32").split(","):
        backend, batch = device.split(":")[0], value("--batch", "64")
        name = f"{model}/{backend}/{precision}/b{batch}"
        if backend == "cpu" and precision != "fp32" or any(run["name"] == name for run in runs):
            continue  # not supported, or done before
        cut = fault == "ends early" and not before
        shift = 0 if backend == "cpu" else 0.1 if fault == "is wrong" and precision == "bf16" else 1e-6
        runs.append({
            "name": name, "status": "skipped" if cut else "ok", "precision": precision,
            "message": "the budget of 240 s was over before this case began" if cut else None,
            "workload": {"model": model, "batch": int(batch), "samples_per_epoch": 1000}, "device": {"backend": backend},
            "throughput": {"samples_per_second": 1000.0 if backend == "cuda" else 5.0},
            "efficiency": {"peak_fraction": 0.5 if backend == "cuda" else None},
            "gpu": {"skipped_steps": 0} if backend == "cuda" else None,
            "timing": {"step_seconds_median": 0.06 if fault == "is slow" else 0.02},
            "profile": {"limit_seconds": 0.01, "nodes": [
                {"name": "layer 1 attention", "op": "attention", "implementation": "made up", "limit_seconds": 1e-5,
                 "seconds": 2e-3 if fault == "is slow" else 1e-4}]} if "--profile" in args else None,
            "energy": {"joules_per_epoch": 700.0}, "cost": {"usd_per_epoch": 0.002, "price_source": value("--price")},
            "quality": {"loss": [2.0 * (1 + shift)] * int(value("--steps", "10")),
                        "parity_with": f"{model}/cpu/fp32/b{batch}" if backend == "cuda" else None}})
print(json_of({"runs": runs}), file=open(out, "w"))
"""
PEER = """
if os.environ.get("CARD", "9").startswith("7") and value("--precision") in ("tf32", "bf16"):
    sys.exit(2)
out = value("--out") or value("--resume")
runs = read_json(out)["runs"] if os.path.exists(out) else []
compiled = value("--compile") != "eager"
runs.append({"name": "p/compile=" + value("--compile") if compiled else "p", "status": "ok", "precision": value("--precision"),
             "workload": {"model": value("--model"), "batch": int(value("--batch"))}, "device": {"backend": "pytorch"},
             "throughput": {"samples_per_second": 800.0 if compiled else 640.0}})
print(json_of({"runs": runs}), file=open(out, "w"))
"""
TORCH = "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n"


class Bare:
    """A bare machine: a copy of the sources, stand-ins as the whole PATH, nothing built."""

    def __init__(self, folder, pytorch=True):
        self.folder, self.root, self.bin = folder, folder / "clone", folder / "bin"
        self.calls_file, self.site = folder / "calls", folder / "site"
        self.bin.mkdir(parents=True)
        copy_sources(("scripts", "bench/suites"), self.root)
        for list_of in ("devices", "prices"):
            shutil.copy2(REPOSITORY / "bench" / f"{list_of}.json", self.root / "bench")
        (self.root / "tests").mkdir()
        (self.root / "tests" / "one.cmake").write_text("epochbench_cuda_kernel_test(cuda_attention_test)\n")
        (self.root / "src").mkdir()
        (self.root / "src" / "main.cpp").write_text("int main() {}\n")
        for name, body in (("nvidia-smi", NVIDIA_SMI), ("nvcc", NVCC), ("cmake", CMAKE), ("ctest", CTEST), ("stand_in", EPOCHBENCH),
                           ("compute-sanitizer", SANITIZER), ("../clone/scripts/peers/train_pytorch", PEER)):
            (self.bin / name).write_text(HEAD + body)
            (self.bin / name).chmod(0o755)
        for name in ("torch", "torchvision") if pytorch else ():
            (self.site / name).mkdir(parents=True)
            (self.site / name / "__init__.py").touch()
        if pytorch:
            (self.site / "torch-2.11.0.dist-info").mkdir()
            (self.site / "torch-2.11.0.dist-info" / "METADATA").write_text(TORCH)

    def call(self, *arguments, **environment):
        self.calls_file.write_text("")
        variables = {"PATH": str(self.bin), "CALLS": str(self.calls_file), "HOME": str(self.folder), "PYTHONPATH": str(self.site),
                     "EPOCHBENCH_STAND_IN": str(self.bin / "stand_in"), "LANG": "C.UTF-8", **environment}
        return subprocess.run([sys.executable, "-S", self.root / "scripts" / "check_gpu", *map(str, arguments)], env=variables,
                              capture_output=True, text=True, timeout=120)

    def calls(self, text=""):
        return [line for line in self.calls_file.read_text().splitlines() if text in line and not line.startswith("nv")]
