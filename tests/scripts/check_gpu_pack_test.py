"""The pack of scripts/check_gpu: what a bare machine lacks arrives there, or is named."""

import json
import os
import platform
import sys
import unittest
import unittest.mock

from bare_gpu_machine import Bare, REPOSITORY
from in_folder import FolderTest

sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

import gpu_pack  # noqa: E402


class Pack(FolderTest):
    def setUp(self):
        super().setUp()
        self.system, self.packages = self.folder / "usr", self.folder / "packages"
        for paths in gpu_pack.PARTS.values():
            for path in paths:
                path = self.system / path.format(multiarch=f"{platform.machine()}-linux-gnu")
                target = path if "." in path.name else path / "file"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("content")
        (self.system / "src/googletest/googletest/test").mkdir(parents=True)
        (self.system / "src/googletest/googletest/test/large.cc").touch()
        (self.packages / "include/cudnn_frontend").mkdir(parents=True)
        (self.packages / "include/cudnn_frontend.h").touch()

    def test_what_is_packed_arrives(self):
        file = self.folder / "pack.tar.xz"
        gpu_pack.write_pack(file, REPOSITORY, "sources", [self.packages], self.system)
        self.assertEqual(gpu_pack.open_pack(file, self.folder / "into")["sources"], "sources")
        for path in ("include/nlohmann/file", "share/cmake/CLI11/file", "include/xxhash.h", "lib/libz.a", "lib/libpcre2-8.a", "lib/libutf8proc.a", "include/cudnn_frontend.h",
                     "src/googletest/file"):
            self.assertTrue((self.folder / "into" / path).exists(), path)
        self.assertFalse((self.folder / "into/src/googletest/googletest/test").exists())

    def test_a_pack_is_what_the_build_searches_and_states_the_commit_of_its_sources(self):
        first, second, file = Bare(self.folder / "first"), Bare(self.folder / "second"), self.folder / "pack.tar.xz"
        first.call(self.folder / "out", "--only", "build")
        digest = json.loads((self.folder / "out" / "state.json").read_text())["sources"]
        with unittest.mock.patch("gpu_pack.commit", return_value="abc123"):
            gpu_pack.write_pack(file, REPOSITORY, digest, [self.packages], self.system)
        done = second.call("--packages", file, "--only", "tests")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("commit abc123, digest", done.stdout)
        carried = second.root / "build-gpu/carried"
        program, googletest, install, tests = [call for call in second.calls("cmake") if "--target epochbench" not in call][:4]
        for text in (f"-DCMAKE_PREFIX_PATH={carried}", f"-DEPOCHBENCH_PACKAGES={carried}", "-DEPOCHBENCH_GIT_SHA=abc123"):
            self.assertIn(text, program)
            self.assertIn(text, tests)
        self.assertIn(f"-S {carried}/src/googletest", googletest)
        self.assertIn("--target install", install)
        self.assertIn("-DEPOCHBENCH_TESTS=GPU", tests)

    def test_what_is_missing_is_named_with_its_package(self):
        (self.system / "include/xxhash.h").unlink()
        with self.assertRaisesRegex(gpu_pack.PackError, "include/xxhash.h is missing: install libxxhash-dev"):
            gpu_pack.write_pack(self.folder / "pack", REPOSITORY, "", [self.packages], self.system)

    def test_a_pack_that_is_too_large_is_refused(self):
        (self.system / "include/nlohmann/file").write_bytes(os.urandom(30 * 1000))
        with unittest.mock.patch("gpu_pack.PACK_BYTES", 25 * 1000), self.assertRaisesRegex(gpu_pack.PackError, "the pack would have"):
            gpu_pack.write_pack(self.folder / "pack", REPOSITORY, "", [self.packages], self.system)

    def test_a_pack_for_another_processor_is_refused(self):
        with unittest.mock.patch("platform.machine", return_value="riscv"):
            with self.assertRaises(gpu_pack.PackError):
                gpu_pack.write_pack(self.folder / "pack", REPOSITORY, "", [self.packages], self.system)  # no libz.a there
        gpu_pack.write_pack(self.folder / "pack", REPOSITORY, "", [self.packages], self.system)
        with unittest.mock.patch("platform.machine", return_value="riscv"):
            with self.assertRaisesRegex(gpu_pack.PackError, "and this machine is riscv"):
                gpu_pack.open_pack(self.folder / "pack", self.folder / "into")


if __name__ == "__main__":
    unittest.main()
