"""scripts/check_cpu on a machine that is made up: the build, epochbench, epochbench_bench, tests, libraries and take_turns are
stand-ins, so that calls, stamps, verdicts and the page are tested. Nothing is measured here, except where EPOCHBENCH_BENCH names
the real program, whose table is read."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from in_folder import FolderTest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

import cpu_machine  # noqa: E402
import cpu_page  # noqa: E402
import cpu_plan  # noqa: E402
import cpu_results  # noqa: E402
from stand_in import HEAD, copy_sources  # noqa: E402

# In place of scripts/lib/setup.sh, which setup_test.py tests: the build leaves the stand-ins behind.
SETUP = 'test_packages=packages\nset_up() { "$root/../bin/set_up" "$@"; }\n'
SET_UP = """
import pathlib, shutil
build = pathlib.Path(__file__).parent.parent / "clone" / "build"
for target in args[0].split():
    folder = build if target == "epochbench" else build / ("bench" if target == "epochbench_bench" else "tests")
    folder.mkdir(parents=True, exist_ok=True)
    source = {"epochbench": "epochbench", "epochbench_bench": "bench"}.get(target, "some_test")
    shutil.copy2(pathlib.Path(__file__).parent / source, folder / target)
"""
LSCPU = """
flags = os.environ.get("FLAGS", "avx2 avx512f avx512_bf16 avx512_vnni")
print(f"Model name:   Example(R) CPU 9000 @ 2.0GHz\\nCPU family: 25\\nL2 cache:  2 MiB (2 instances)\\nFlags: {flags}")
"""
EPOCHBENCH = """
import json, pathlib
if args[0] == "info":
    print(json.dumps({"cpu": {"model": "Example (family 6, model 7, stepping 8)", "isa": ["fma", "avx2"], "memory_bytes": 2 ** 34, "memory_bandwidth_bytes_per_second": 5e10,
                              "peak_flops_per_second": {"fp32": 2e11, "bf16": None}, "peak_instruction": {"fp32": "vfmadd"}}}))
    sys.exit()
if args[0] == "speedup":
    model = pathlib.Path(args[1]).stem.removeprefix("inference-")
    print(json.dumps({"pairs": [{"baseline": f"{model}/cpu/fp32/b16/mode=forward", "contender": f"{model}/cpu/{precision}/b16/mode=forward",
                                 "baseline_samples_per_second": 27.5, "contender_samples_per_second": rate, "ratio": rate / 27.5,
                                 "ratio_ci95": [rate / 30, rate / 25]} for precision, rate in (("bf16", 44.0), ("int8", 110.0))
                                if fault != "no_int8" or precision != "int8"]}))
    sys.exit()
context = {"date": "2026-01-02T03:04:05Z", "host_name": "laptop", "command_line": ["/home/somebody/x"], "compiler": "gcc 12.2.0"}
pathlib.Path(value("--out")).write_text(json.dumps({"schema_version": 1, "context": context, "runs": []}))
"""
SOME_TEST = """
if fault == "wrong":
    print("[  FAILED  ] Gemm.IsRight\\n[  FAILED  ] Gemm.IsRight\\n[  FAILED  ] Gemm/Odd.Sizes/1\\n 2 FAILED TESTS")
    sys.exit(1)
print("[  SKIPPED ] CpuBf16.Trains\\n" * (fault == "skips") + "[==========] 9 tests from 1 test suite ran. (38 ms total)")
"""
# A table as the program prints it: 1.250 is the ratio of products, and so on.
BENCH = r"""
flags = dict(arg[2:].partition("=")[::2] for arg in args)
peers = [name for name in flags.get("peers", "").split(",") if name]
works = ["13 products"] if "gemm13" in flags["shapes"] else ["forward", "grad_input", "grad_weight", "convolutions"]
for name in peers:
    print(f"# {name}: {name} 1.2")
print(f"# {flags['shapes']}, {flags['precision']}, threads: {flags['threads']}, processes: {flags.get('processes', 1)}, rounds: 1; "
      "memory 39.6 GB/s. of peak: of the bursts.\n# roofline: of min.\ngemm m=1\n  avx512    0.74    75.2   32.5 %    32.5 %\n#")
for work in works[:-1] if fault == "short" else works:
    print(f"{work}, geometric mean\n  avx512                          75.8   62.8 %  worst   26.6 %\n"
          "                              total 2.2992 s [1.6671 s, 3.1710 s]")
    for name in peers:
        print(f"  {name:22} {72.2:13.1f}   51.2 %  worst   22.2 %     1.250 [1.180, 1.323]\n"
              "                              total 2.8740 s [1.7581 s, 3.4884 s]     1.240 [1.196, 1.265]")
    if "scaling" in flags:
        print("  avx512 on one thread            49.0   82.6 %  worst   22.1 %  threads gain 0.558 of the peak's gain")
"""
LIBRARIES = """
if fault == "offline":
    sys.exit("libraries: /home/somebody/.cache/libraries could not be made: check the network")
"""
TAKE_TURNS = """
import json, pathlib
out = pathlib.Path(value("--out"))
bad = fault == "crashes"
runs = [{"name": "p", "status": "failed" if bad else "ok", "message": "killed, see /home/somebody/log" if bad else None,
         "device": {"versions": {"torch": "2.15.0"}}}]
out.write_text(json.dumps({"schema_version": 1, "context": {"host_name": "laptop", "command_line": None}, "runs": runs}))
row = {"model": value("--model"), "batch": int(value("--batch")), "precision": value("--precision"), "threads": 2, "peak_fraction": 0.5,
       "ratio": None, "ratio_ci95": None, "ratio_range": None, "message": None}
print(json.dumps([{**row, "contestant": "epochbench", "samples_per_second": 1234.5},
                  {**row, "contestant": "PyTorch eager", "samples_per_second": 8.25, "ratio": 1.5, "ratio_ci95": [1.4, 1.6]},
                  {**row, "contestant": "PyTorch compile", "samples_per_second": 9.0, "ratio": 1.3, "ratio_range": [1.1, 1.7]}]))
sys.exit(bad)
"""


class Bare:
    """A copy of the sources on a machine with two cores where nothing is built."""

    def __init__(self, folder):
        self.folder, self.root, self.bin, self.calls_file = folder, folder / "clone", folder / "bin", folder / "calls"
        self.bin.mkdir(parents=True)
        copy_sources(("scripts/lib", "tests/kernels", "tests/graph"), self.root)
        shutil.copy2(REPOSITORY / "scripts/check_cpu", self.root / "scripts")
        (self.root / "scripts/lib/setup.sh").write_text(SETUP)
        (self.root / "scripts/peers").mkdir()
        for name, body in (("set_up", SET_UP), ("lscpu", LSCPU), ("epochbench", EPOCHBENCH), ("some_test", SOME_TEST), ("bench", BENCH),
                           ("../clone/scripts/peers/libraries", LIBRARIES), ("../clone/scripts/peers/environment.py", LIBRARIES),
                           ("../clone/scripts/peers/take_turns", TAKE_TURNS)):
            (self.bin / name).write_text(HEAD + body)
            (self.bin / name).chmod(0o755)
        self.out = folder / "out"

    def process(self, *arguments, **environment):
        self.calls_file.write_text("")
        variables = {"PATH": f"{self.bin}:{os.environ['PATH']}", "CALLS": str(self.calls_file), "HOME": str(self.folder), **environment}
        return subprocess.Popen([sys.executable, self.root / "scripts/check_cpu", self.out, *map(str, arguments)], env=variables,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def call(self, *arguments, **environment):
        process = self.process(*arguments, **environment)
        stdout, stderr = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def calls(self, text=""):
        """What was measured: no build and no download, which every call repeats."""
        return [line for line in self.calls_file.read_text().splitlines()
                if text in line and not line.startswith(("lscpu", "set_up", "libraries", "environment"))]

    def stamps(self):
        return {path.stem: json.loads(path.read_text())["status"] for path in (self.out / "stamps").glob("*.json")}

    def names(self):
        return {c.name for c in cpu_plan.Plan(REPOSITORY, self.out, 2, True, True).commands() if not c.here}


class CheckCpu(FolderTest):
    def setUp(self):
        super().setUp()
        self.machine = Bare(self.folder)
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs for --threads 2")

    def call(self, *arguments, code=0, **environment):
        done = self.machine.call(*(arguments if "--page" in arguments else ["--threads", 2, *arguments]), **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def row(self, page, *begin):
        """The cells of the row of the page's tables that begins so."""
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
        found = [row[len(begin):] for row in rows if tuple(row[:len(begin)]) == begin]
        self.assertEqual(len(found), 1, f"{begin} in\n{page}")
        return found[0]

    def test_all_is_well_and_nothing_runs_twice(self):
        page = self.call().stdout
        self.assertEqual(self.machine.stamps().keys() - {"build", "libraries", "build-libraries", "pytorch"}, self.machine.names())
        self.assertEqual(set(self.machine.stamps().values()), {"passed"})
        self.assertNotIn("not run", page)
        calls = self.machine.calls()
        self.assertEqual(len(calls), len(set(calls)))
        for name in ("gemm_test", "conv2d_test", "attention_test", "cast_test", "gradient_test", "mixed_training_test"):
            self.assertEqual(len([call for call in calls if call.split()[0] == name]), 1, name)
        self.assertEqual(self.row(page, "13 products of gemm13", "fp32, 2", "62.8%", "26.6%", "2.299 s", "mkl"),
                         ["51.2%", "2.874 s", "1.250 [1.180, 1.323]", "1.240 [1.196, 1.265]"])
        self.assertEqual(self.row(page, "grad_input of resnet50", "bf16, 1")[3:5], ["onednn", "51.2%"])
        self.assertEqual(self.row(page, "resnet50, 16", "int8"), ["27.5", "110", "4.00 [3.67, 4.40]"])
        self.assertEqual(self.row(page, "resnet50, 16", "bf16, 2"),
                         ["1,234, 50%", "8.25, 50%", "9, 50%", "1.50 [1.40, 1.60]", "1.30 (1.10 to 1.70)"])
        for text in ("# epochbench on Example (family 6, model 7, stepping 8)\n", "- CPU: Example(R) CPU 9000 @ 2.0GHz (",
                     "CPU family 25", "caches: L2 2 MiB (2 instances)", "fma",
                     "fp32 200 GFLOP/s (vfmadd)", "16.0 GiB, 50.0 GB/s", "compiler: gcc 12.2.0", "PyTorch: 2.15.0", "mkl: mkl 1.2"):
            self.assertIn(text, page)
        self.call()
        self.assertEqual(self.machine.calls(), [])

    def test_results_tell_nothing_of_the_machine_and_are_not_replaced_silently(self):
        done = self.call("--only", "info,smoke,products-fp32-2,training-lenet5", FAULT="crashes@take_turns", code=1)
        self.assertNotIn("is replaced", done.stderr)
        files = {path.name: path.read_text() for path in (self.machine.root / "results").iterdir()}
        self.assertEqual(files.keys(), {"example-family-6-model-7-stepping-8-2cores-check.json", "example-family-6-model-7-stepping-8-2cores-check.md"})
        for text in files.values():
            for secret in ("laptop", "somebody", str(self.folder)):
                self.assertNotIn(secret, text)
        document = json.loads(files["example-family-6-model-7-stepping-8-2cores-check.json"])
        self.assertEqual(document["check"]["kernels"]["products-fp32-2"]["whole"][1]["ratio"], "1.250 [1.180, 1.323]")
        self.assertIn("FAILED: training-lenet5-fp32, 2 attempts: p: failed: killed, see log", files["example-family-6-model-7-stepping-8-2cores-check.md"])
        self.assertIn("example-family-6-model-7-stepping-8-2cores-check.md is replaced", self.call("--only", "training-lenet5").stderr)

    def test_page_is_written_again_without_running_anything(self):
        page = self.call("--only", "info,own-products-fp32").stdout
        self.assertEqual(self.call("--page").stdout, page.replace("no time was left", "left for another call"))
        self.assertEqual(self.machine.calls(), [])
        (self.machine.out / "own-products-fp32.txt").write_text("cut off")
        self.assertIn("The results of this part cannot be read: the table of epochbench_bench has no end", self.call("--page").stdout)

    def test_without_libraries_both_threads_are_on_the_page(self):
        page = self.call("--only", "own-products-fp32").stdout
        self.assertEqual(self.row(page, "13 products of gemm13", "fp32, 2", "62.8%", "26.6%", "2.299 s")[0], "-")
        self.assertEqual(self.row(page, "13 products of gemm13", "fp32, 1", "82.6%")[2], "-")

    def test_tests_that_are_skipped_are_named_and_not_counted(self):
        page = self.call("--only", "tests-cast,tests-cpu_bf16", FAULT="skips@cpu_bf16").stdout
        self.assertIn("- 17 tests passed; those of kernels run every", page)
        self.assertIn("- skipped by the tests themselves: CpuBf16.Trains\n", page)

    def test_failures_are_stamped_and_tried_again_last(self):
        for fault, name, text in (("wrong@gemm_test", "tests-gemm_test", "Gemm.IsRight, Gemm/Odd.Sizes/1 failed (see tests-gemm_test.log)"),
                                  ("short@resnet50.txt", "own-convolutions-fp32", "the table has no line of convolutions"),
                                  ("fails@info", "info", "exit code 1: error: no such thing"),
                                  ("no_int8@speedup", "inference-bert-base", "int8 over fp32 was not measured"),
                                  ("crashes@bert-base", "training-bert-base-bf16", "p: failed: killed")):
            with self.subTest(name):
                page = self.call("--only", name, FAULT=fault, code=1).stdout
                self.assertIn(f"FAILED: {name}, 2 attempts: {text}", page)
        self.call("--only", "smoke,info,tests-gemm_test")
        self.assertEqual([call.split()[0] for call in self.machine.calls()], ["epochbench", "epochbench", "gemm_test"])
        self.assertIn("run", self.machine.calls()[0])  # the smoke test, which had not run
        self.assertEqual(self.machine.stamps()["tests-gemm_test"], "passed")

    def test_one_that_hangs_ends_with_the_call_and_the_next_call_goes_on(self):
        self.call("--only", "tests-gelu")
        begin = time.monotonic()
        done = self.call("--budget", 3, "--only", "info,smoke,tests-cast", FAULT="hangs@info --json", code=4)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("- stopped: info: had ", done.stdout)
        self.assertIn("- not run: smoke, tests-cast_test: no time was left", done.stdout)
        self.call("--only", "info,smoke,tests-cast")
        self.assertEqual([call.split()[1] for call in self.machine.calls()], ["run", "--gtest_brief=1", "info"])

    def test_a_signal_leaves_a_stamp_and_a_page(self):
        process = self.machine.process("--threads", 2, "--only", "smoke,info", FAULT="hangs@run --model")
        for _ in range(200):
            if self.machine.calls("run --model"):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 143, stderr)
        self.assertIn("smoke: interrupted by a signal", (self.machine.out / "page.md").read_text())
        self.assertEqual(self.machine.stamps()["smoke"], "stopped")

    def test_without_network_their_side_is_left_out_in_one_line(self):
        names = ("--only", "info,products,own-products-fp32,training-lenet5")
        done = self.call(*names, FAULT="offline@e")
        self.assertEqual([line.split(":")[1] for line in done.stderr.splitlines() if line.startswith("check_cpu: left out")],
                         [" left out what needs libraries", " left out what needs pytorch"])
        self.assertIn("FAILED: libraries, 2 attempts: exit code 1: libraries: libraries could not be made: check the network", done.stdout)
        self.assertIn("- not run: training-lenet5-fp32: needs pytorch, which did not pass", done.stdout)
        self.assertEqual(len(self.machine.calls()), 2)
        self.call(*names)  # the network is back
        self.assertEqual(len(self.machine.calls("bench --peers") + self.machine.calls("take_turns")), 5)

    def test_bf16_is_left_out_where_the_cpu_has_no_instruction_for_it(self):
        page = self.call("--only", "info,own,products,smoke", FLAGS="avx2").stdout
        self.assertIn("not run: products-bf16-2, products-bf16-1, convolutions-bf16-2, convolutions-bf16-1: this CPU has no instruction that multiplies bf16", page)
        self.assertEqual([call for call in self.machine.calls() if "bf16" in call], [])

    def test_int8_is_left_out_where_the_cpu_has_no_instruction_for_it(self):
        page = self.call("--only", "info,inference", FLAGS="avx512_bf16").stdout
        self.assertIn("not run: inference-resnet50, inference-bert-base: this CPU has no instruction that multiplies int8", page)
        self.assertEqual([call for call in self.machine.calls() if "int8" in call], [])

    def test_a_failed_build_leaves_everything_for_later(self):
        done = self.call(FAULT="fails@set_up", code=4)
        self.assertIn("FAILED: build, 2 attempts: exit code 1: error: no such thing", done.stdout)
        self.assertIn("needs build, which did not pass", done.stdout)
        self.assertEqual(self.machine.calls(), [])

    def test_dry_run_prints_the_commands_in_the_order_of_evidence(self):
        done = self.call("--dry-run")
        order = [line.split(":")[0][2:] for line in done.stdout.splitlines() if line.startswith("# ")]
        expected = ["build", "info", "tests-gemm_test", "own-products-fp32", "libraries", "products-fp32-2", "products-fp32-1",
                    "products-bf16-2", "pytorch", "training-resnet50-bf16", "training-bert-base-fp32", "training-lenet5-fp32",
                    "inference-resnet50"]
        self.assertEqual([name for name in order if name in expected], expected)
        self.assertEqual(self.machine.calls(), [])
        self.assertFalse(self.machine.out.exists())

    def test_bad_input_is_one_line(self):
        (self.folder / "file").touch()
        for arguments, text in ((["--only", "polish"], "no command begins with polish; --dry-run lists them"),
                                (["--threads", "0"], "0 is not possible here; use 1 to "), (["--budget", "-1"], "give seconds above 0"),
                                (["--threads", "x"], "invalid int value: 'x'; --help lists"), (["--page"], "contains no state of check_cpu"),
                                (["--turbo"], "unrecognized arguments: --turbo")):
            done = self.machine.call(*arguments)
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
            self.assertIn(text, done.stderr)
        self.call("--only", "info")
        self.assertIn("contains results of --threads 2; name another OUT_DIR", self.machine.call("--threads", 1).stderr)
        (self.machine.root / "scripts/peers/new").touch()
        self.assertIn("contains results of other sources", self.machine.call().stderr)
        self.machine.out = self.folder / "file"
        self.assertIn("is not a folder; name another one", self.machine.call().stderr)


class Parts(unittest.TestCase):
    def test_expected_times_are_those_of_the_documents(self):
        commands = list(cpu_plan.Plan(REPOSITORY, pathlib.Path("out"), 2, True, True).commands())
        self.assertLessEqual(sum(c.expected for c in commands if c.core), 15 * 60)
        self.assertLessEqual(sum(c.expected for c in commands), 63 * 60)
        self.assertLessEqual(max(c.expected / c.limit for c in commands), 0.5)

    def test_with_one_thread_nothing_is_measured_twice(self):
        commands = [c for c in cpu_plan.Plan(REPOSITORY, pathlib.Path("out"), 1, True, True).commands()]
        self.assertEqual(len(commands), len({c.name for c in commands}))
        own = next(c for c in commands if c.name == "own-products-fp32").arguments(9)
        self.assertIn("--peers=", own)
        self.assertNotIn("--scaling", own)

    def test_physical_cores_are_counted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            for cpu, core in ((0, 0), (1, 0), (2, 1)):
                path = pathlib.Path(folder) / f"cpu{cpu}" / "topology"
                path.mkdir(parents=True)
                (path / "physical_package_id").write_text("0\n")
                (path / "core_id").write_text(f"{core}\n")
            self.assertEqual(cpu_machine.physical_cores({0, 1, 2}, folder), 2)
            self.assertEqual(cpu_machine.physical_cores({0, 1, 2, 3}, folder), 3)

    def test_names_of_files(self):
        for name, slug in (("Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz", "intel-xeon-gold-6226r"), ("AMD EPYC", "amd-epyc"),
                           ("AMD Ryzen 9 7950X 16-Core Processor", "amd-ryzen-9-7950x"), ("Neoverse-N1", "neoverse-n1")):
            self.assertEqual(cpu_machine.slug(name), slug)

    def test_paths_are_shortened_and_rates_are_not(self):
        self.assertEqual(cpu_page.without_paths("exit code 2: /home/me/build/x: no (see '/tmp/a.log'), 5 GFLOP/s, a/b"),
                         "exit code 2: x: no (see 'a.log'), 5 GFLOP/s, a/b")


@unittest.skipUnless("EPOCHBENCH_BENCH" in os.environ, "EPOCHBENCH_BENCH names no program")
class RealTable(unittest.TestCase):
    def test_is_read(self):
        """Products and convolutions, ours alone, with both numbers of threads and in several processes."""
        for flags in (["--scaling", "--threads=2", "--rounds=1"], ["--peers=", "--threads=1", "--rounds=1", "--processes=5"]):
            done = subprocess.run([os.environ["EPOCHBENCH_BENCH"], *flags, f"--shapes={REPOSITORY}/bench/shapes/lenet5.txt"],
                                  capture_output=True, text=True, check=True)
            table = cpu_results.comparison(done.stdout)
            ours = [row for row in table["whole"] if not row["library"].endswith("on one thread")]
            self.assertEqual([row["work"] for row in ours], ["9 products", "forward", "grad_input", "grad_weight", "convolutions"])
            self.assertEqual(len(table["whole"]), 10 if "--scaling" in flags else 5)
            self.assertTrue(all(0 < row["worst"] <= row["peak_fraction"] < 1.5 and row["total"] > 0 for row in ours), table)
            self.assertEqual((table["shapes"], table["precision"], f"--threads={table['threads']}"), ("lenet5", "fp32", flags[1]))


if __name__ == "__main__":
    unittest.main()
