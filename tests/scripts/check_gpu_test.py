"""scripts/check_gpu on a machine that is made up: its calls, stamps, state and verdicts."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from bare_gpu_machine import Bare, DIVIDED
from in_folder import FolderTest


class CheckGpu(FolderTest):
    def setUp(self):
        super().setUp()
        self.machines = 0

    def bare(self, **options):
        self.machines += 1
        return Bare(self.folder / f"machine-{self.machines}", **options)

    def assert_ends(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for text in texts:
            self.assertIn(text, done.stdout + done.stderr)

    def assert_refused(self, done, code, text):
        self.assert_ends(done, code, text)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stdout + done.stderr)

    def test_bad_input_is_one_line_and_its_exit_code(self):
        machine = self.bare()
        self.assert_refused(machine.call("--only", "polish"), 2, "no command begins with polish")
        self.assert_refused(machine.call(CARD="7.0, Tesla V100-SXM2-16GB, 600.1, 16160 MiB"), 3,
                            "Tesla V100-SXM2-16GB has compute capability 7.0, and epochbench needs 7.5 or later, since CUDA 13 and current "
                            "versions of cuDNN support no older one")
        self.assert_refused(machine.call(TOOLKIT="13.0"), 3, "driver 600.1 is too old: it runs CUDA 12.8")
        self.assert_refused(machine.call(FAULT="fails@nvidia-smi"), 3, "error: no such thing")
        self.assert_refused(machine.call("--page", "--state", self.folder / "new"), 2, "contains no state of check_gpu")
        bad = self.folder / "bad"
        bad.write_text("text")
        self.assert_refused(machine.call("--packages", bad), 2, "is not a pack of check_gpu")
        self.assert_refused(machine.call("--packages", self.folder / "missing"), 2, "is not a pack of check_gpu")
        self.assert_refused(machine.call("--state", bad), 2, "cannot be used as --state")
        (machine.bin / "nvidia-smi").unlink()
        self.assert_refused(machine.call(), 3, "nvidia-smi failed")
        self.assertEqual(machine.calls(), [])

    def test_the_card_asked_about_is_the_one_that_is_used(self):
        machine = self.bare()
        self.assert_refused(machine.call(CUDA_VISIBLE_DEVICES=""), 3, "CUDA_VISIBLE_DEVICES is empty, which hides every GPU")
        for visible, asked in (("1,0", "--id=1"), ("GPU-1a2b", "--id=GPU-1a2b")):
            self.assert_ends(machine.call("--only", "build", CUDA_VISIBLE_DEVICES=visible), 0)
            self.assertIn(f"nvidia-smi {asked} --query-gpu", machine.calls_file.read_text())

    def test_an_instance_of_a_card_is_found_with_its_card_and_its_memory(self):
        machine = self.bare()
        for number, (visible, asked, name, batch) in enumerate((
                ("MIG-3f0c", "GPU-99ff", " MIG 3g.20gb", 64), ("MIG-77aa", "GPU-99ff", " MIG 4g.47gb", 256), ("1", "1", " MIG 3g.20gb", 64),
                ("GPU-99", "GPU-99", " MIG 3g.20gb", 64), ("0", "0", "", 256), (None, "0", "", 256))):
            environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
            done = machine.call("--only", "cpu-resnet50", self.folder / str(number), CARDS=DIVIDED, **environment)
            self.assert_ends(done, 0, f"# epochbench on NVIDIA H100 80GB HBM3{name}\n")
            self.assertIn(f"nvidia-smi --id={asked} --query-gpu", machine.calls_file.read_text())
            self.assertIn(f"--batch {batch}", machine.calls("epochbench run")[0])
            self.assertEqual("--price" in machine.calls("epochbench run")[0], not name)
        self.assert_refused(machine.call(CARDS=DIVIDED, CUDA_VISIBLE_DEVICES="MIG-0000"), 3,
                            "CUDA_VISIBLE_DEVICES is MIG-0000, which is not an instance that nvidia-smi -L lists")

    def test_a_damaged_state_and_one_of_other_sources_or_cards_are_refused(self):
        state = self.folder / "state"
        self.assert_ends(self.bare().call("--state", state, "--only", "smoke-lenet5"), 0)
        machine = self.bare()
        self.assert_refused(machine.call("--state", state, CARD="9.0, NVIDIA H200, 600.1, 143771 MiB"), 2,
                            "contains results of NVIDIA H100 80GB HBM3, and this machine has NVIDIA H200")
        (machine.root / "src" / "main.cpp").write_text("int main() { return 1; }\n")
        self.assert_refused(machine.call("--state", state), 2, f"name another folder, with --choices {state} to keep")
        self.assert_refused(machine.call("--state", self.folder / "next", "--choices", self.folder), 2, "contains no choices of algorithms")
        self.assert_ends(machine.call("--state", self.folder / "next", "--choices", state, "--only", "smoke-lenet5"), 0)
        chosen = next((machine.root / "build-gpu").rglob("choices-3.json")).read_text().splitlines()
        self.assertEqual(len(chosen), 2 * len(machine.calls("epochbench run")))  # the calls of the earlier state come first
        records = next(state.glob("records-*"))
        records.write_bytes(records.read_bytes()[:-1])
        self.assert_refused(machine.call("--state", state), 2, "is damaged: copy it again")
        (machine.root / "large").write_bytes(b"\0" * 61 * 2 ** 20)
        self.assert_refused(machine.call("--state", self.folder / "other"), 2, "sources, pack and state have 6")

    def test_dry_run_prints_the_commands_in_the_order_of_evidence(self):
        machine = self.bare()
        (machine.bin / "nvidia-smi").unlink()
        done = machine.call("--dry-run")
        self.assert_ends(done, 0, "-DEPOCHBENCH_TESTS=OFF", "-DEPOCHBENCH_D3=OFF", "--target epochbench\n")
        order = [line.split(":")[0][2:] for line in done.stdout.splitlines() if line.startswith("# ")]
        expected = ["build", "info", "smoke-lenet5", "record-resnet50-bf16", "eager-bert-base-bf16", "cpu-resnet50",
                    "record-resnet50-fp32", "record-resnet50-fp16", "compiled-resnet50-bf16", "record-resnet50-tf32", "compiled-resnet50-fp32",
                    "hour", "claims", "tests", "parity-0", "sanitizer-memcheck-models", "sanitizer-racecheck-cuda_attention_test_gpu"]
        self.assertEqual([name for name in order if name in expected], expected)
        self.assertEqual(machine.calls(), [])
        self.assertFalse((machine.root / "build-gpu").exists())
        models = " ".join(line for line in done.stdout.splitlines() if "parity" in line)
        for model in ("mlp", "resnet20", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "bert-base", "bert-large", "vit-b-16",
                      "lstm", "lstm-lm"):
            self.assertIn(model, models)

    def test_all_is_well_and_nothing_runs_twice(self):
        machine = self.bare()
        done = machine.call()
        self.assert_ends(done, 0, "PyTorch: 2.11.0", "GPU: NVIDIA H100 80GB HBM3, compute capability 9.0, driver 600.1, CUDA 12.8",
                         "Prices: cuda=p5.48xlarge.")
        rows = {tuple(cell.strip() for cell in line.split("|")[1:4]): [cell.strip() for cell in line.split("|")[4:-1]]
                for line in done.stdout.splitlines() if line.startswith("|")}
        self.assertEqual(rows["resnet50", "bf16", "256"],
                         ["1,000", "50.0%", "640", "800", "1.25", "5.0", "200", "0.7", "2"])
        self.assertEqual(len(rows), 2 + 8)
        self.assertNotIn("not run", done.stdout)
        self.assertEqual({path.name for path in (machine.root / "results").iterdir()},
                         {f"h100-80gb-hbm3-{name}" for name in ("record.json", "peers.json", "hour.json", "claims.json",
                                                                "page.md")})
        calls = machine.calls()
        self.assertEqual(len(calls), len(set(calls)), "nothing runs twice")
        self.assertIn("-DEPOCHBENCH_CUDA_ARCHITECTURES=90", machine.calls("cmake -S")[0])
        self.assert_ends(machine.call(), 0)
        self.assertEqual(machine.calls(), [])

    def test_quick_runs_what_decides_and_ends_with_the_answers(self):
        machine = self.bare()
        planned = machine.call("--quick", "--dry-run").stdout
        self.assertLessEqual(sum(map(int, re.findall(r"(?m)^# .* about ([0-9]+) s", planned))), 600)
        self.assert_ends(machine.call("--quick"), 0, "15 of 15 commands passed", "answers from ")
        for precision in ("bf16", "fp32", "fp16", "tf32"):
            for model in ("resnet50", "bert-base"):
                self.assertTrue(machine.calls(f"--model {model} --device cuda:0 --precision {precision} "), (model, precision))
        self.assertEqual(len(machine.calls("--device cpu --data synthetic --batch 32 ")), 2, "an eighth of the card's")
        for other in ("train_pytorch", "ctest", "compute-sanitizer", "--suite"):
            self.assertEqual(machine.calls(other), [])
        self.assertTrue((machine.root / "results" / "h100-80gb-hbm3-quick-record.json").exists())
        self.assertFalse((machine.root / "results" / "h100-80gb-hbm3-record.json").exists())

    def test_quick_with_an_installed_program_builds_nothing(self):
        machine = self.bare()
        self.assert_ends(machine.call("--quick", "--binary", machine.bin / "stand_in"), 0, "answers from ")
        self.assertEqual(machine.calls("cmake"), [])
        self.assert_refused(machine.call("--binary", machine.bin / "stand_in"), 2, "--binary needs --quick")
        self.assert_refused(machine.call("--quick", "--binary", machine.folder / "none"), 2, "is not a program")

    def test_a_card_without_bf16_passes_in_the_precisions_it_has(self):
        machine = self.bare()
        done = machine.call(CARD="7.5, Tesla T4, 600.1, 15360 MiB")
        reason = "tf32 and bf16 are left out: they need compute capability 8.0, and this card has 7.5"
        self.assert_ends(done, 0, f"check_gpu: {reason}\n", f"\n- {reason}\n")
        self.assertNotIn("FAILED", done.stdout + done.stderr)
        for text in ("--model lenet5 --batch 32 --device cpu,cuda:0 --precision fp32,fp16 ",
                     "--precision fp16 --data synthetic --batch 64 --min-time 5 --profile",
                     "--precision fp16 --device cuda:0 --compile max-autotune", "--device cuda:0 --precision fp32,fp16 --warmup 0 --steps 3"):
            self.assertNotEqual(machine.calls(text), [], text)
        first = machine.calls("epochbench run --model resnet50 --device cuda:0")[0]
        self.assertIn("--precision fp16", first)
        rows = [line.split("|")[1:3] for line in done.stdout.splitlines() if line.startswith("|")]
        self.assertEqual({(model.strip(), precision.strip()) for model, precision in rows[2:]},
                         {(model, precision) for model in ("resnet50", "bert-base") for precision in ("fp32", "fp16")})
        self.assert_ends(self.bare().call("--only", "tests", CARD="7.5, Tesla T4, 600.1, 15360 MiB", FAULT="skips@ctest"), 1,
                         "Gpu.Parity: skipped")

    def test_a_second_bare_machine_goes_on_from_the_state(self):
        state, first, second = self.folder / "state", self.bare(), self.bare()
        self.assert_ends(first.call("--state", state, "--only", "info,smoke,record,eager"), 0)
        self.assertLessEqual(len(list(state.glob("*-*"))), 3)
        done = second.call("--state", state)
        self.assert_ends(done, 0)
        self.assertEqual(second.calls("--target epochbench") + second.calls("smoke-") + second.calls("--compile eager"), [])
        measured = [call for machine in (first, second) for call in machine.calls() if call.startswith(("epochbench", "train"))]
        self.assertEqual(len(measured), len(set(measured)) + 1, "info runs again, since it shows that the program works there")
        self.assertEqual(json.loads((second.root / "results/h100-80gb-hbm3-record.json").read_text())["runs"][0]["precision"], "bf16")
        chosen, at_first = (next(machine.root.rglob("choices-3.json")).read_text() for machine in (second, first))
        self.assertTrue(at_first and chosen.startswith(at_first) and len(chosen) > len(at_first))

        home = self.bare()  # the page needs no GPU
        (home.bin / "nvidia-smi").unlink()
        self.assertEqual(home.call("--page", "--state", state).stdout, (state / "page.md").read_text())
        self.assertTrue((home.root / "results/h100-80gb-hbm3-peers.json").exists())

    def test_a_program_that_does_not_work_there_is_built_again(self):
        state = self.folder / "state"
        self.assert_ends(self.bare().call("--state", state, "--only", "info"), 0)
        for fault, reason in (("sees none", "none built"), ("fails", "error: no such thing")):
            second = self.bare()
            done = second.call("--state", state, "--only", "smoke-lenet5", FAULT=f"{fault}@info")
            self.assert_ends(done, 0, f"the program of the state does not work here, and is built again: {reason}")
            self.assertEqual(len(second.calls("--target epochbench")), 1)
            shutil.rmtree(state)
            self.assert_ends(self.bare().call("--state", state, "--only", "info"), 0)

    def test_a_program_that_was_built_here_is_not_replaced_by_that_of_the_state(self):
        state, machine = self.folder / "state", self.bare()
        self.assert_ends(machine.call("--state", state, "--only", "info"), 0)
        program = machine.root / "build-gpu" / "epochbench"
        program.write_text(program.read_text() + "# built again, and not saved yet\n")
        self.assert_ends(machine.call("--state", state, "--only", "smoke-lenet5"), 0)
        self.assertIn("# built again", program.read_text())

    def test_a_call_that_is_killed_is_gone_on_with_elsewhere_and_its_command_comes_last(self):
        state, first, second = self.folder / "state", self.bare(), self.bare()
        names = "info,smoke-lenet5,record-resnet50"
        done = first.call("--state", state, "--only", names, FAULT="kills@--precision bf16")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assert_ends(second.call("--state", state, "--only", names), 0)
        order = [call.split("--precision ")[1].split()[0] for call in second.calls("epochbench run")]
        self.assertEqual(order, ["fp32", "fp16", "tf32", "bf16"])

    def test_a_signal_leaves_a_stamp_and_a_state(self):
        state, machine = self.folder / "state", self.bare()
        machine.calls_file.write_text("")
        process = subprocess.Popen(
            [sys.executable, "-S", machine.root / "scripts/check_gpu", "--state", state], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={"PATH": str(machine.bin), "CALLS": str(machine.calls_file), "HOME": str(self.folder), "FAULT": "hangs@info",
                 "EPOCHBENCH_STAND_IN": str(machine.bin / "stand_in")})
        for _ in range(200):
            if machine.calls("info --json"):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 143)
        done = self.bare().call("--page", "--state", state)
        self.assert_ends(done, 0, "- stopped: info: interrupted by a signal", "- proven by configure, build\n")

    def test_a_hanging_command_ends_with_the_call(self):
        machine, begin = self.bare(), time.monotonic()
        self.assert_ends(machine.call("--only", "build"), 0)
        done = machine.call("--budget", 3, FAULT="hangs@info --json")
        self.assertLess(time.monotonic() - begin, 20)
        self.assert_ends(done, 4, "info: stopped", "left for another call: info, smoke-lenet5",
                         "- stopped: info: had ", "- not run: smoke-lenet5, smoke-bert-tiny, smoke-products, smoke-attention: no time was left")

    def test_failures_are_stamped_and_tried_again_once_per_call(self):
        for fault, name, text in (("skips@ctest", "tests", "Gpu.Parity: skipped"),
                                  ("is wrong@smoke", "smoke-lenet5", "lenet5/cuda/bf16/b32: first loss 1.0e-01"),
                                  ("is slow@smoke-products", "smoke-products", "a step takes 60.00 ms, 6.0 times its bound"),
                                  ("is slow@smoke-attention", "smoke-attention", "layer 1 attention takes 2.00 ms by made up"),
                                  ("hit@racecheck", "sanitizer-racecheck-models", "1 reports, the first: Invalid read"),
                                  ("sees none@info", "info", "none built"), ("fails@train_pytorch", "eager-resnet50-bf16", "exit code 1")):
            with self.subTest(name):
                machine = self.bare()
                done = machine.call("--only", name, FAULT=fault)
                self.assert_ends(done, 1, text, f"FAILED: {name}, 2 attempts: ", f"failed: {name}\n")
        self.assert_ends(machine.call("--only", name), 0)

    def test_a_suite_goes_on_where_its_budget_ended_it(self):
        machine = self.bare()
        done = machine.call("--only", "hour", FAULT="ends early@hour")
        self.assert_ends(done, 0, "hour: partial", "1 of 1 runs are left")
        self.assertEqual([("--out" in call, "--resume" in call) for call in machine.calls("--suite hour")], [(True, False), (False, True)])

    def test_results_that_cannot_be_read_are_a_line_of_the_page(self):
        machine = self.bare()
        self.assert_ends(machine.call(self.folder / "out", "--only", "record-resnet50-bf16"), 0)
        (self.folder / "out" / "record.json").write_text("{")
        self.assert_ends(machine.call(self.folder / "out", "--page"), 0, "The record cannot be read: ", "- proven by record-resnet50-bf16")

    def test_results_of_suites_leave_room_for_what_travels(self):
        machine, out = self.bare(), self.folder / "out"
        self.assert_ends(machine.call(out, "--only", "record-resnet50-bf16"), 0)
        (out / "claims.json").write_text('{"runs": [{"timing": {"step_seconds": [' + f"{0.001:1023}," * (46 * 2 ** 10) + "1]}}]}")
        done = machine.call(out, "--page")
        self.assert_ends(done, 0, "state stay under 60 MiB: the steps of suites beyond the first 100 of a run; see")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        claims, record = ((machine.root / f"results/h100-80gb-hbm3-{name}.json").read_text() for name in ("claims", "record"))
        self.assertEqual(len(json.loads(claims)["runs"][0]["timing"]["step_seconds"]), 100)
        self.assertEqual(record, (out / "record.json").read_text())

    def test_a_failed_build_leaves_everything_for_later(self):
        machine = self.bare()
        done = machine.call(FAULT="fails@--target epochbench")
        self.assert_ends(done, 4, "not run: info, smoke-lenet5, smoke-bert-tiny, smoke-products, smoke-attention: needs build, which did not pass")
        self.assertEqual(machine.calls("epochbench run"), [])

    def test_without_pytorch_its_side_is_left_out_and_the_rest_goes_on(self):
        machine = self.bare(pytorch=False)
        done = machine.call("--only", "eager,record-resnet50-bf16")
        self.assert_ends(done, 0, "PyTorch's side is left out", "has no torch and no torchvision", "PyTorch: none was found")
        self.assertEqual(machine.calls("train_pytorch"), [])
        self.assertEqual(len(machine.calls("epochbench run")), 1)


if __name__ == "__main__":
    unittest.main()
