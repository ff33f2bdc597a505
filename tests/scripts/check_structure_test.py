"""scripts/check_structure on small trees that keep or break one rule."""

import pathlib
import subprocess
import unittest

from in_folder import FolderTest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_structure"


class CheckStructure(FolderTest):
    def check(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        done = subprocess.run([SCRIPT, self.folder], capture_output=True, text=True, timeout=60)
        file.unlink()
        return done

    def assert_refused(self, path, text, reason):
        done = self.check(path, "// Head.\n" + text)
        self.assertEqual(done.returncode, 1, path)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertTrue(done.stdout.startswith(f"{path}:2: "), done.stdout)
        self.assertIn(reason, done.stdout)

    def assert_accepted(self, path, text):
        done = self.check(path, text)
        self.assertEqual((done.returncode, done.stdout), (0, ""), path)

    def test_each_folder_may_include_only_what_lies_before_it(self):
        self.assert_refused("include/epochbench/graph.h", '#include "src/graph/passes.h"', "include may include only")
        self.assert_refused("models/resnet.cpp", '#include "src/backend/cpu.h"', "models may include only")
        self.assert_refused("src/graph/gradient.cpp", '#include "src/backend/cpu.h"', "src/graph may include only")
        self.assert_refused("src/graph/gradient.cpp", '#include "kernels/cpu/kernels.h"', "src/graph may include only")
        self.assert_refused("src/backend/cpu.cpp", '#include "src/graph/passes.h"', "src/backend may include only")
        self.assert_refused("kernels/cpu/relu.cpp", '#  include "epochbench/graph.h"', "kernels/cpu may include only")
        self.assert_refused("kernels/cpu/relu.cpp", '#include "kernels/reference/kernels.h"', "kernels/cpu may include only")
        self.assert_refused("src/worker/runner.cpp", '#include "src/workload/workload.h"', "src/worker may include only")
        self.assert_refused("src/analysis/cost/cost.cpp", '#include "epochbench/graph.h"', "src/analysis may include only")
        self.assert_refused("src/report/json.cpp", '#include "src/session/budget.h"', "src/report may include only")
        self.assert_refused("src/workload/make.cpp", '#include "src/worker/runner.h"', "src/workload may include only")

    def test_what_lies_before_is_accepted(self):
        self.assert_accepted("models/resnet.cpp", '#include "epochbench/model.h"\n#include <vector>\n')
        self.assert_accepted("src/backend/cpu.cpp", '#include "kernels/cpu/kernels.h"\n#include "epochbench/backend.h"\n')
        self.assert_accepted("src/workload/make.cpp", '#include "src/graph/passes.h"\n#include "src/case/case.h"\n')
        self.assert_accepted("tests/relu_test.cpp", '#include "kernels/cpu/kernels.h"\n#include "support/compare.h"\n')

    def test_a_file_of_the_same_folder_is_named_by_its_path(self):
        self.assert_refused("src/graph/gradient.cpp", '#include "passes.h"', "src/graph may include only")

    def test_an_unknown_folder_has_no_rule(self):
        self.assert_refused("src/cellar/box.cpp", '#include "epochbench/graph.h"', "no known folder")

    def test_libraries_and_cuda_headers_have_their_places(self):
        self.assert_refused("kernels/cpu/relu.cpp", "#include <nlohmann/json.hpp>", "belongs to")
        self.assert_refused("src/worker/runner.cpp", "#include <CLI/CLI.hpp>", "belongs to")
        self.assert_refused("src/worker/runner.cpp", "#include <cuda_runtime.h>", "CUDA headers")
        self.assert_refused("src/backend/cpu.cpp", "#include <cudnn.h>", "CUDA headers")
        self.assert_accepted("src/backend/cuda/cuda_backend.cpp", "#include <cuda_runtime.h>\n")
        self.assert_accepted("kernels/cuda/relu.cu", '#include <cuda_runtime.h>\n#include "kernels/cuda/check.h"\n')
        self.assert_accepted("src/base/json.cpp", "#include <nlohmann/json.hpp>\n")
        self.assert_refused("src/report/page.cpp", "#include <nlohmann/json.hpp>\n", "belongs to")

    def test_no_path_of_one_machine(self):
        home = "/" + "home/ada/data"
        self.assert_refused("bench/suites/quick.json", f'{{"data": "idx:{home}"}}', "path of one machine")
        self.assert_refused("tests/data/idx_test.cpp", f'open("{self.folder}/x")', "path of one machine")

    def test_a_long_file_is_a_warning(self):
        done = self.check("src/graph/long.cpp", "//\n" * 401)
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: more than 400 lines", done.stdout)

    def test_mutants_match_the_sources(self):
        (self.folder / "tests").mkdir(exist_ok=True)
        (self.folder / "tests/mutants.json").write_text('[{"file": "src/graph/sum.cpp", "from": "a + b", "to": "a - b"}]')
        for text, code in (("a + b\n", 0), ("a + b + a + b\n", 1), ("b + a\n", 1)):
            done = self.check("src/graph/sum.cpp", text)
            self.assertEqual(done.returncode, code, done.stdout)
        self.assertIn("mutant 1: src/graph/sum.cpp has its text 0 times", done.stdout)

    def test_another_folder_is_no_repository(self):
        done = subprocess.run([SCRIPT, self.folder], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
