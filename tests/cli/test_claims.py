"""The articles' claims: as a list, and with verdicts from results."""
import functools
import json
import re
import subprocess
import unittest

from support import BINARY, QUICK, SCHEMAS, TIMEOUT_SECONDS, CliTest, known_peaks

VERDICTS = {"reproduced", "exceeded", "not_reproduced", "undecided", "not_testable"}
KEYS = {"id", "verdict", "evidence", "claimed", "measured", "measured_ci95", "conditions", "reason"}


@functools.cache
def text_without_results(*arguments):
    """What the whole catalog looks like, which takes a second."""
    return subprocess.run([BINARY, "claims", *arguments], capture_output=True, text=True, check=True,
                          timeout=TIMEOUT_SECONDS).stdout


class Claims(CliTest):
    def claims(self, *arguments, code=0):
        call = self.call("claims", *arguments, "--json")
        self.assertEqual(call.returncode, code, call.stderr)
        return {claim["id"]: claim for claim in json.loads(call.stdout)["claims"]}

    def test_answers_do_not_depend_on_the_order_of_the_files(self):
        files = [SCHEMAS.with_name(name) for name in ("h200-record.json", "zen4-2cores-hour.json", "zen5-2cores-quick.json")]
        there, back = (self.succeed("claims", *order, "--json").stdout for order in (files, files[::-1]))
        self.assertEqual(there, back)

    def test_are_listed_from_any_folder(self):
        call = self.succeed("list", "claims")
        self.assertLessEqual(max(map(len, call.stdout.splitlines())), 100)
        listed = self.call("list", "claims", "--json")
        ids = [claim["id"] for claim in json.loads(listed.stdout)["claims"]]
        self.assertEqual(len(ids), 54)
        for name in ids:
            self.assertIn(f"\n{name}\n", "\n" + call.stdout)
        for arguments in ([], ["--verbose"]):
            text = text_without_results(*arguments)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)
            for name in ids:
                self.assertRegex(text, f"(?m)^{name} ")

    def test_without_results_are_judged_by_plans_and_by_others(self):
        by_plan = {"memory-7b": "reproduced", "memory-model-size": "not_reproduced", "memory-16gb": "not_reproduced",
                   "memory-batch": "reproduced", "inference-lighter": "reproduced"}
        for name, claim in self.claims("--strict", code=1).items():
            self.assertLessEqual(KEYS, claim.keys())
            self.assertEqual(claim["verdicts"].get("planned"), by_plan.get(name) or claim["verdicts"].get("planned"), name)
            self.assertNotIn("measured", claim["verdicts"], name)
            self.assertNotEqual(claim["evidence"], "measured", name)
            if not claim["verdicts"]:
                self.assertEqual(claim["verdict"], "not_testable", name)
                self.assertTrue(claim["reason"], name)
            for part in claim.get("parts", [claim]):
                if part["evidence"] == "published" and part["measured"] is not None:
                    self.assertTrue(all(source["text"] for source in part["sources"]) and part["sources"], name)
        parts = {part["id"]: part for part in self.claims("--id", "memory-7b")["memory-7b"]["parts"]}
        weights = parts["weights-fp32"]
        self.assertEqual((weights["measured"], weights["verdict"], weights["evidence"]), (28, "reproduced", "planned"))
        self.assertEqual(parts["forward-planned"]["verdict"], "reproduced")
        self.assertEqual(parts["training-planned"]["verdict"], "not_reproduced")
        self.assertRegex(text_without_results(), r"(?m)^memory-7b +several +holds$")
        self.assertRegex(text_without_results("--verbose"), r"(?m)^memory-7b: reproduced \(planned\)")

    def test_are_judged_by_what_was_measured(self):
        self.succeed("run", "--model", "bert-tiny", "--data", "synthetic", "--batch", "1", "--warmup", "1", "--steps", "2",
                     "--repetitions", "5", *known_peaks(), "--out", self.out)
        claims = self.claims(self.out)
        for name, claim in claims.items():
            self.assertIn(claim["verdict"], VERDICTS, name)
            for part in claim.get("parts", []):
                self.assertLessEqual(KEYS, part.keys())
        size = claims["memory-model-size"]
        self.assertEqual(size["verdict"], "not_reproduced")
        measured = next(part for part in size["parts"] if part["id"] == "measured/bert-tiny")
        self.assertGreater(measured["measured_ci95"][0], 3)
        self.assertIn("no GPU", claims["energy"]["reason"])
        some = ("--id", "memory-model-size", "--id", "energy")
        for place in (self.out, self.folder):
            self.assertEqual(self.claims("--strict", *some, place, code=1), {name: claims[name] for name in some[1::2]})
        text = self.call("claims", self.out, "--verbose")
        self.assertEqual(text.returncode, 0)
        self.assertRegex(text.stdout, "(?m)^memory-model-size: not reproduced")
        self.assertRegex(text.stdout, "(?m)^memory-model-size +≤ 1x +fails +fails$")
        self.assertLessEqual(max(map(len, text.stdout.splitlines())), 100)

    def test_of_some_ids_alone(self):
        claims = self.claims("--id", "gap-widens", "--id", "memory-7b")
        self.assertEqual(list(claims), ["gap-widens", "memory-7b"])
        call = self.call("claims", "--id", "cnn-transformer-4-8x", "--id", "days-to-hours", "--json")
        self.assertEqual(len(json.loads(call.stdout)["conflicts"]), 1, "the one between these two")
        self.assertNotIn("cannot hold together", self.call("claims", "--id", "memory-7b").stdout)
        call = self.call("claims", "--id", "mixed-precision-quality", "--id", "half-precision-less-accurate", "--json")
        self.assertEqual(len(json.loads(call.stdout)["conflicts"]), 1)
        self.assert_refused(self.call("claims", "--id", "gap-widen"), 2, "--id", "did you mean gap-widens?")

    def test_of_ones_own(self):
        recorded = SCHEMAS.parent / "zen4-2cores-hour.json"
        def verdict(text, code=0):
            return self.claims(recorded, "--claim", text, "--strict", code=code)[text]
        holds = verdict("bf16/fp32 of resnet50 > 1.2")
        self.assertEqual(holds["verdict"], "reproduced")
        self.assertEqual(holds["unit"], "x")
        self.assertLess(holds["measured_ci95"][0], holds["measured"])
        self.assertNotIn("price", json.dumps(holds["warnings"]), "speed has no price")
        money = verdict("per-dollar bf16/fp32 of resnet50 > 1.2")
        self.assertIn("price_of_other_machine", json.dumps(money["warnings"]))
        self.assertEqual(verdict("bf16/fp32 of resnet50 >= 4", code=1)["verdict"], "not_reproduced")
        self.assertEqual(verdict("bf16/fp32 of resnet50 <= 1.2", code=1)["verdict"], "not_reproduced")
        self.assertEqual(verdict("cuda/cpu >= 4")["verdict"], "not_testable")
        value = verdict("memory cpu of resnet50 < 16000")
        self.assertEqual((value["verdict"], value["unit"]), ("reproduced", "MiB"))
        self.assertGreater(value["measured"], 1000)
        text = self.call("claims", recorded, "--claim", "bf16/fp32 of resnet50 > 1.2", "--id", "memory-7b").stdout
        self.assertIn("2 claims", text)
        self.assertRegex(text, "(?m)^bf16/fp32 of resnet50 > 1.2: reproduced")
        self.assertEqual(self.claims("--claim", "cuda/cpu >= 4")["cuda/cpu >= 4"]["verdict"], "not_testable")
        for wrong in ("", "cuda/cpu", "cuda/cpu >= much", "gpu/cpu >= 4", "cuda/cpu => 4 5", "price cuda/cpu > 1", "> 4", "a/b/c > 1"):
            with self.subTest(wrong):
                self.assert_refused(self.call("claims", "--claim", wrong), 2, "--claim")
        self.assert_refused(self.call("claims", "--claim", "gpu/cpu >= 4"), 2, "'gpu' is not", "such as 'cuda/cpu >= 4'")

    def test_at_prices(self):
        prices = ("--purchase", "2400", "--lifetime", "4", "--power", "500", "--electricity", "0.2", "--cloud")
        claims = self.claims(*prices, "0.6", "--id", "local-vs-cloud")
        self.assertEqual(claims["local-vs-cloud"]["verdict"], "reproduced")
        self.assertAlmostEqual(claims["local-vs-cloud"]["measured"], 100)
        self.assertEqual(claims["local-vs-cloud"]["verdicts"], {"planned": "reproduced"})
        self.assertEqual(self.claims(*prices, "0.15", "--id", "local-vs-cloud")["local-vs-cloud"]["verdict"], "not_reproduced")
        self.assertIn("--lifetime", self.claims("--purchase", "2400", "--id", "local-vs-cloud")["local-vs-cloud"]["reason"])
        self.assertIn("--lifetime", self.call("claims", "--purchase", "2400", "--id", "local-vs-cloud").stdout.replace("\n      ", " "))
        example = self.claims("--id", "local-vs-cloud")["local-vs-cloud"]
        self.assertEqual((example["verdict"], example["parts"][1]["verdict"]), ("not_testable", "reproduced"))
        self.assertIn("--purchase USD", example["parts"][0]["reason"])
        self.assertIn("g5.xlarge", json.dumps(self.call("list", "prices").stdout))
        self.assertEqual(self.claims(*prices, "g5.xlarge", "--id", "cloud-idle")["cloud-idle"]["verdict"], "reproduced")
        self.assert_refused(self.call("claims", "--purchase", "2400", "--id", "memory-7b"), 2, "about owning and renting")
        self.assert_refused(self.call("claims", "--purchase", "much"), 2, "--purchase")

    def test_of_another_catalog(self):
        quantity = {"quantity": "samples/s, bf16 over fp32", "unit": "x", "claimed": [1.2, None], "kind": "ratio",
                    "measure": "samples_per_second", "models": ["resnet50"],
                    "of": {"backends": ["cpu"], "precisions": ["bf16"]}, "to": {"backends": ["cpu"], "precisions": ["fp32"]}}
        plan = {"id": "plan", "quantity": "memory", "unit": "GB", "scale": 1e9, "claimed": [None, 1], "less_is_more": True,
                "kind": "plan", "measure": "bytes", "models": ["lenet5"], "of": {"precisions": ["fp32"]}}
        claim = {"id": "mine", "text": "bf16 is faster", "conditions": "none given", "origin": "none given",
                 "experiment": "resnet50", "verdict": "the ratio", "quantities": [quantity]}
        catalog = {"note": "Another article.", "articles": [{"file": "a.txt", "sha256": "0" * 64}], "claims": [
            {**claim, "quotes": [{"article": "a.txt", "text": "bf16 is faster"}]}, {**claim, "id": "small", "quantities": [plan]}]}
        file = self.write("catalog.json", catalog)
        claims = self.claims(SCHEMAS.parent / "zen4-2cores-hour.json", "--catalog", file)
        self.assertEqual({name: claim["verdict"] for name, claim in claims.items()}, {"mine": "reproduced", "small": "reproduced"})
        self.assertEqual((claims["mine"]["evidence"], claims["small"]["evidence"]), ("measured", "planned"))
        self.assertEqual(list(self.claims("--catalog", file, "--id", "small")), ["small"])
        self.assert_refused(self.call("claims", "--catalog", file, "--id", "smal"), 2, "catalog.json", "did you mean small?")
        self.assert_refused(self.call("claims", "--catalog", "nowhere.json"), 2, "nowhere.json")
        bad = {"unknown key 'clams'": {**catalog, "clams": []}, "claims: a catalog needs": {**catalog, "claims": []},
               "stands there twice": {**catalog, "claims": [claim, claim]}}
        for why, change in {"measure: 'speed' is unknown": {"measure": "speed"}, "int8, not 'fp31'": {"of": {"precisions": ["fp31"],
                            "backends": ["cpu"]}}, "pytorch, not 'gpu'": {"of": {"backends": ["gpu"]}}, "claimed: must be": {"claimed": 4},
                            "unknown key 'modles'": {"modles": []}, "models: missing": {"models": []},
                            "kind: 'guess' is unknown": {"kind": "guess"}, "scale: must be above 0": {"scale": 0}}.items():
            bad[why] = {**catalog, "claims": [{**claim, "quantities": [{**quantity, **change}]}]}
        bad["resnet51"] = {**catalog, "claims": [{**claim, "quantities": [{**plan, "models": ["resnet51"]}]}]}
        for why, document in bad.items():
            with self.subTest(why):
                file.write_text(json.dumps(document))
                self.assert_refused(self.call("claims", "--catalog", file), 2, why)
        file.write_text("{")
        self.assert_refused(self.call("claims", "--catalog", file), 2, "catalog.json")

    def test_the_sample_of_the_page_about_them_is_a_catalog(self):
        page = (SCHEMAS.parents[1] / "docs" / "claims.md").read_text()
        sample = next(part.split("```")[0] for part in page.split("```json\n")[1:] if '"quotes"' in part)
        (self.folder / "sample.json").write_text(sample)
        claims = self.claims("--catalog", self.folder / "sample.json")
        self.assertEqual(len(claims), len(json.loads(sample)["claims"]))

    def test_the_page_about_them_has_every_kind(self):
        page = (SCHEMAS.parents[1] / "docs" / "claims.md").read_text()
        table = page.split("| kind | is | measure |\n|---|---|---|\n")[1].split("\n\n")[0]
        described = {kind for row in table.splitlines() for kind in re.findall(r"`(\w+)`", row.split("|")[1])}
        file = self.folder / "guess.json"
        quantity = {"quantity": "q", "unit": "x", "claimed": [1, None], "kind": "guess"}
        claim = dict.fromkeys(("id", "text", "conditions", "origin", "experiment", "verdict"), "a")
        file.write_text(json.dumps({"note": "", "claims": [{**claim, "quantities": [quantity]}]}))
        known = re.search("choose from ([a-z_, ]+)", self.call("claims", "--catalog", file).stderr)[1].split(", ")
        self.assertEqual(described, set(known))

    def test_published_results_are_no_results(self):
        folder = SCHEMAS.parent / "published"
        self.assert_refused(self.call("claims", folder), 2, "only results that others published", "without a file")
        self.assert_refused(self.call("claims", folder / "dawnbench.json"), 2, "dawnbench.json", "others published")

    def test_refuse_what_is_no_result(self):
        self.out.write_text("no result")
        self.assert_refused(self.call("claims", self.out), 2, "result.json")
        self.assert_refused(self.call("claims", "nowhere.json"), 2, "nowhere.json")
        self.assert_refused(self.call("claims", "--stict"), 2, "--stict")

    def test_a_case_waits_for_its_condition(self):
        call = self.call("run", *QUICK, "--only-with", "cores:1000", "--out", self.out, "--overwrite")
        self.assert_refused(call, 3, "--only-with cores:1000")
        self.assert_refused(self.call("run", *QUICK, "--only-with", "tpu", "--out", self.out, "--overwrite"), 2, "--only-with", "tpu")
        self.assertEqual(self.call("run", *QUICK, "--only-with", "cores:1", *known_peaks(), "--out", self.out).returncode, 0)
        self.assertNotIn("only-with", self.result()["runs"][0]["name"])

    def test_the_reference_is_a_device(self):
        self.succeed("run", *QUICK, "--device", "cpu,reference", *known_peaks(), "--out", self.out)
        runs = {run["device"]["backend"]: run for run in self.result()["runs"]}
        self.assertEqual(runs["reference"]["name"], "lenet5/reference/fp32/b16")
        self.assertLess(runs["reference"]["quality"]["parity_max_relative_difference"], 1e-3)

    def test_a_case_of_a_suite_has_its_own_repetitions(self):
        suite = self.write("suite.json", {"repetitions": 3, "defaults": {"steps": 2, "warmup": 0},
                                          "cases": [{"model": "mlp"}, {"model": "lenet5", "repetitions": 1}]})
        self.assertEqual(self.call("run", "--suite", suite, *known_peaks(), "--out", self.out).returncode, 0)
        counts = [(run["workload"]["model"], run["repetition"]) for run in self.result()["runs"]]
        self.assertEqual(counts, [("mlp", 0), ("lenet5", 0), ("mlp", 1), ("mlp", 2)])
        self.assertEqual(self.call("run", "--suite", suite, "--repetitions", "2", *known_peaks(), "--out", self.out,
                                   "--overwrite").returncode, 0)
        self.assertEqual(len(self.result()["runs"]), 4)
        suite.write_text('{"cases": [{"model": "mlp", "repetitions": 0}]}')
        self.assert_refused(self.call("run", "--suite", suite, "--out", self.out, "--overwrite"), 2, "cases[0].repetitions")


if __name__ == "__main__":
    unittest.main()
