"""What a build needs on a bare CUDA image: CUDA's libraries out of Python packages, in both layouts, and everything else out of a
pack. The toolkit is a stand-in, the network is off where the system permits that, and CMake does not see this machine's own
folders; nothing is compiled except CMake's own checks."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from in_folder import FolderTest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

import gpu_pack  # noqa: E402

NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release {0}.8, V{0}.8.20'\n"
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(find LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH {repository}/cmake)
set(EPOCHBENCH_PACKAGES {packages})
include(EpochbenchFindCuda)
epochbench_find_cuda(missing)
message(STATUS "missing: ${{missing}}.")
message(STATUS "folders: ${{EPOCHBENCH_CUDA_LIBRARY_FOLDERS}}")
message(STATUS "headers: ${{CUBLASLT_INCLUDE_DIR}};${{CUDNN_INCLUDE_DIR}};${{NVRTC_INCLUDE_DIR}}")
message(STATUS "nccl: ${{NCCL_INCLUDE_DIR}} ${{NCCL_LIBRARY}}")
"""
# What PyTorch's wheels bring, by the version of CUDA.
LAYOUTS = {"12": {"cublas": ("cublasLt.h", "libcublasLt.so.12"), "cuda_nvrtc": ("nvrtc.h", "libnvrtc.so.12")},
           "13": {"cu13": ("cublasLt.h", "libcublasLt.so.13", "nvrtc.h", "libnvrtc.so.13")}}
BOTH = {"cudnn": ("cudnn.h", "cudnn_version.h", "libcudnn.so.9"), "nccl": ("nccl.h", "libnccl.so.2")}
# CMake finds programs as it finds headers, so these are named.
PROGRAMS = {"CMAKE_C_COMPILER": os.environ.get("CC", "gcc"), "CMAKE_CXX_COMPILER": os.environ.get("CXX", "g++"),
            "CMAKE_MAKE_PROGRAM": "ninja"}
WITHOUT_NETWORK = ["unshare", "--net", "--"]


def may_unshare():
    return shutil.which("unshare") and subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True).returncode == 0


@unittest.skipUnless(shutil.which("cmake") and shutil.which("ninja"), "cmake or ninja is missing")
class BareImage(FolderTest):
    def setUp(self):
        super().setUp()
        self.site, self.toolkit, self.packages = (self.folder / name for name in ("site", "toolkit", "packages"))
        (self.packages / "include").mkdir(parents=True)
        (self.packages / "include/cudnn_frontend.h").touch()

    def cmake(self, source, *options):
        """CMake without network, where permitted, that sees only what it is shown."""
        environment = {**os.environ, "CUDA_HOME": str(self.toolkit), "PYTHONPATH": str(self.site)}
        environment.pop("EPOCHBENCH_PACKAGES", None)
        call = ["cmake", "-G", "Ninja", "-S", source, "-B", self.folder / "build", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
                "-DCMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH=OFF", f"-DEPOCHBENCH_PYTHON={sys.executable}",
                *(f"-D{name}={shutil.which(program)}" for name, program in PROGRAMS.items()), *options]
        done = subprocess.run([*(WITHOUT_NETWORK if may_unshare() else []), *call], env=environment, capture_output=True, text=True)
        facts = dict(line[3:].split(": ", 1) for line in done.stdout.splitlines() if line.startswith("-- ") and ": " in line)
        return done, facts

    def python_packages(self, major, without=()):
        for package, files in {**LAYOUTS[major], **BOTH}.items():
            for name in files if package not in without else ():
                path = self.site / "nvidia" / package / ("include" if name.endswith(".h") else "lib") / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("#define CUDNN_MAJOR 9\n" if name == "cudnn_version.h" else "")
        for path in ("include/cuda_runtime.h", "lib64/libcudart.so", "bin/nvcc"):
            (self.toolkit / path).parent.mkdir(parents=True, exist_ok=True)
            (self.toolkit / path).write_text(NVCC.format(major))
        (self.toolkit / "bin/nvcc").chmod(0o755)
        project = self.folder / "project"
        project.mkdir(exist_ok=True)
        (project / "CMakeLists.txt").write_text(PROJECT.format(repository=REPOSITORY, packages=self.packages))
        return self.cmake(project)

    def test_libraries_are_found_in_python_packages_of_cuda_12(self):
        done, facts = self.python_packages("12")
        self.assertEqual(facts["missing"], ".", done.stdout + done.stderr)
        nvidia = self.site / "nvidia"
        self.assertEqual(facts["folders"].split(";"), [f"{nvidia}/cublas/lib", f"{nvidia}/cudnn/lib", f"{nvidia}/cuda_nvrtc/lib",
                                                      f"{nvidia}/nccl/lib", f"{self.toolkit}/lib64"])
        self.assertEqual(facts["headers"].split(";"), [f"{nvidia}/{name}/include" for name in ("cublas", "cudnn", "cuda_nvrtc")])
        self.assertEqual(facts["nccl"], f"{nvidia}/nccl/include {nvidia}/nccl/lib/libnccl.so.2")

    def test_without_nccl_only_ranks_are_left_out(self):
        done, facts = self.python_packages("13", without=("nccl",))
        self.assertEqual(facts["missing"], ".", done.stdout + done.stderr)
        self.assertEqual(facts["nccl"], "NCCL_INCLUDE_DIR-NOTFOUND NCCL_LIBRARY-NOTFOUND")

    def test_libraries_are_found_in_python_packages_of_cuda_13(self):
        done, facts = self.python_packages("13")
        self.assertEqual(facts["missing"], ".", done.stdout + done.stderr)
        nvidia = self.site / "nvidia"
        self.assertEqual(facts["folders"].split(";"), [f"{nvidia}/cu13/lib", f"{nvidia}/cudnn/lib", f"{nvidia}/nccl/lib",
                                                      f"{self.toolkit}/lib64"])
        self.assertEqual(facts["headers"].split(";"), [f"{nvidia}/{name}/include" for name in ("cu13", "cudnn", "cu13")])
        self.assertEqual(facts["nccl"], f"{nvidia}/nccl/include {nvidia}/nccl/lib/libnccl.so.2")

    def test_what_is_missing_is_named(self):
        for package, text in (("cudnn", "cuDNN 9 is missing"), ("cublas", "cuBLASLt of CUDA 12 is missing"),
                              ("cuda_nvrtc", "NVRTC of CUDA 12 is missing")):
            shutil.rmtree(self.site, ignore_errors=True)
            shutil.rmtree(self.folder / "build", ignore_errors=True)
            self.assertIn(text, self.python_packages("12", without=(package,))[1]["missing"])

    def test_the_libraries_of_another_major_version_are_not_taken(self):
        self.python_packages("12")
        shutil.rmtree(self.folder / "build")
        (self.toolkit / "bin/nvcc").write_text(NVCC.format(13))
        self.assertIn("cuBLASLt of CUDA 13 is missing", self.cmake(self.folder / "project")[1]["missing"])

    def test_a_pack_is_all_that_the_program_needs_besides(self):
        pack = self.folder / "pack.tar.xz"
        try:
            size = gpu_pack.write_pack(pack, REPOSITORY, "", [self.packages])
        except gpu_pack.PackError as error:
            self.skipTest(str(error))
        self.assertLess(size, 25e6)
        options = ["-DEPOCHBENCH_CUDA=OFF", "-DEPOCHBENCH_D3=OFF", "-DCMAKE_BUILD_TYPE=Release"]
        done, _ = self.cmake(REPOSITORY, *options)
        self.assertNotEqual(done.returncode, 0, "without the pack something must be missing, or this test shows nothing")
        shutil.rmtree(self.folder / "build")
        gpu_pack.open_pack(pack, self.folder / "carried")
        done, _ = self.cmake(REPOSITORY, *options, f"-DCMAKE_PREFIX_PATH={self.folder / 'carried'}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Pictures of --data images: left out, missing: libarchive-dev, libjpeg-dev, libpng-dev", done.stdout)
        cache = (self.folder / "build/CMakeCache.txt").read_text()
        for name in ("nlohmann_json_DIR", "CLI11_DIR", "XXHASH_INCLUDE_DIR", "ZLIB_INCLUDE_DIR"):
            self.assertRegex(cache, rf"(?m)^{name}:\w+={self.folder}/carried/")
        self.assertNotIn("GTest_DIR", cache)
        self.assertNotIn("-Werror", (self.folder / "build/compile_commands.json").read_text())

    def test_without_d3_the_program_draws_no_pages_unless_it_is_to(self):
        missing = "D3, which draws the page of `epochbench report`, is missing"
        for options, returncode, text in (((), 0, "Pages of `epochbench report`: off, since D3 is missing: install libjs-d3"),
                                          (("-DEPOCHBENCH_D3=OFF",), 0, "Pages of `epochbench report`: off (EPOCHBENCH_D3)"),
                                          (("-DEPOCHBENCH_D3=ON",), 1, missing), (("-DEPOCHBENCH_TESTS=ON",), 1, missing),
                                          (("-DEPOCHBENCH_D3=/no/d3.min.js",), 1, f"{missing} (/no/d3.min.js)")):
            done = subprocess.run(["cmake", f"-DCMAKE_FIND_ROOT_PATH={self.folder}", "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY", *options,
                                   "-P", REPOSITORY / "cmake/EpochbenchChartLibrary.cmake"], capture_output=True, text=True)
            self.assertEqual(done.returncode, returncode, done.stderr)
            self.assertIn(text, " ".join((done.stdout + done.stderr).split()))

    def test_sources_without_a_repository_have_the_commit_that_is_passed(self):
        header = self.folder / "version.h"
        subprocess.run(["cmake", f"-DSOURCE={self.folder}", f"-DOUTPUT={header}", "-DVERSION=1", "-DSHA=abc123", "-P",
                        REPOSITORY / "cmake/EpochbenchVersion.cmake"], check=True)
        self.assertIn('#define EPOCHBENCH_GIT_SHA "abc123"', header.read_text())

    def test_the_network_is_off(self):
        if not may_unshare():
            self.skipTest("unshare --net is not permitted here: the tests above ran with the network on")
        code = "import socket; socket.create_connection(('1.1.1.1', 53), 2)"
        self.assertIn("unreachable", subprocess.run([*WITHOUT_NETWORK, sys.executable, "-c", code], capture_output=True, text=True).stderr)


if __name__ == "__main__":
    unittest.main()
