"""scripts/run on machines that are made up: a folder of stand-in commands is the whole PATH. Nothing is compiled here;
scripts/check_fresh tries the real thing on a bare Debian."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from in_folder import FolderTest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
REAL_COMMANDS = "awk cat chmod date dirname env flock grep ln mkdir nproc readlink rm sed sh tail true uname".split()

CMAKE = r"""
echo "cmake $*" >> "$CALLS"
case $1 in
  -S) mkdir -p "$4" && : > "$4/build.ninja"
      { echo "CMAKE_HOME_DIRECTORY:INTERNAL=$2"; echo "EPOCHBENCH_BUILT_KERNELS:INTERNAL=portable;avx2"
        echo "EPOCHBENCH_NVCC:FILEPATH=$(command -v $CUDA_HOME/bin/nvcc || echo EPOCHBENCH_NVCC-NOTFOUND)"; } > "$4/CMakeCache.txt"
      { echo '#!/bin/sh'; echo 'printf "portable;avx2"'; } > "$4/supported_instruction_sets"
      chmod +x "$4/supported_instruction_sets"
      cache=$4/CMakeCache.txt
      for option; do
        case $option in -D*) option=${option#-D}; echo "${option%%=*}:STRING=${option#*=}" >> "$cache" ;; esac
      done ;;
  --build) [ -z "$COMPILER_FAILS" ] || { echo "error: no such thing"; exit 1; }
      { echo '#!/bin/sh'; echo 'echo "$PWD|$*"; exit 3'; } > "$2/epochbench"; chmod +x "$2/epochbench" ;;
esac
"""
# Knows no package before an update, as on a fresh machine; `install` brings ninja.
APT_GET = r"""
echo "apt-get $*" >> "$CALLS"
case "$*" in
  *update*) : > "$BIN/.updated" ;;
  *install*) [ -e "$BIN/.updated" ] || { echo 'E: Unable to locate package'; exit 100; }
      { echo '#!/bin/sh'; } > "$BIN/ninja"; chmod +x "$BIN/ninja" ;;
esac
"""
# Offers every package as a wheel that holds the headers of all, and an nvcc that zipfile makes without permissions.
PYTHON = r"""
echo "python3 $*" >> "$CALLS"
case "$*" in
  *"pip download"*) [ -z "$OFFLINE" ] || { echo "ERROR: no matching distribution"; exit 1; }
      while [ "$1" != --dest ]; do shift; done
      : > "$2/a-package.whl"; cat "$2/requirements.txt" >> "$CALLS" ;;
  *"zipfile -e"*) mkdir -p "$5/include" "$5/nvidia/cudnn/include" "$5/nvidia/nccl/include" "$5/nvidia/cu13/bin" "$5/nvidia/cu13/lib"
      : > "$5/nvidia/nccl/include/nccl.h"; : > "$5/nvidia/cu13/lib/libcudart.so.13"
      { echo '#!/bin/sh'; echo 'echo "release 13.0, V13.0.88"'; } > "$5/nvidia/cu13/bin/nvcc"
      : > "$5/include/cudnn_frontend.h"; : > "$5/nvidia/cudnn/include/cudnn.h" ;;
esac
"""


class Machine:
    def __init__(self, folder):
        self.root = folder / "a clone"
        self.bin = folder / "bin"
        self.calls_file = folder / "calls"
        self.elsewhere = folder / "elsewhere"
        self.cuda_home = folder / "no toolkit"
        for path in (self.root, self.bin, self.elsewhere):
            path.mkdir()
        self.calls_file.touch()
        shutil.copytree(REPOSITORY / "scripts", self.root / "scripts")
        for name in REAL_COMMANDS:
            (self.bin / name).symlink_to(shutil.which(name))
        self.command("cmake", CMAKE)
        self.command("apt-get", APT_GET)
        self.command("dpkg-query", "echo not-installed")
        self.command("id", "echo 0")
        self.command("g++")
        self.command("ninja")

    def command(self, name, body="exit 0"):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def cuda_backend(self):
        """A repository that has one, on a machine that has nothing of CUDA in the usual places."""
        (self.root / "kernels/cuda").mkdir(parents=True, exist_ok=True)
        script = self.root / "scripts/lib/cuda.sh"
        text = script.read_text()
        for of_this_machine in (" /usr/include /usr/local/include ", " /usr/local/cuda/bin ", " /dev/nvidia*",
                                " /sys/bus/pci/devices/*/vendor"):
            assert of_this_machine in text
            text = text.replace(of_this_machine, " ")
        script.write_text(text)

    def toolkit(self, *headers, gpus=("9.0",)):
        """A CUDA toolkit with these headers, and GPUs with these compute capabilities."""
        self.cuda_backend()
        if gpus:
            self.command("nvidia-smi", "".join(f"echo {capability}\n" for capability in gpus))
        folder = self.bin.parent / "toolkit"
        for path in (folder / "bin", folder / "include"):
            path.mkdir(parents=True)
        for header in headers:
            (folder / "include" / header).touch()
        nvcc = folder / "bin/nvcc"
        nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.6, V12.6.20'\n")
        nvcc.chmod(0o755)
        self.cuda_home = folder

    def run(self, *arguments, **environment):
        self.calls_file.write_text("")
        variables = {"PATH": str(self.bin), "BIN": str(self.bin), "CALLS": str(self.calls_file), "COMPILER_FAILS": "",
                     "OFFLINE": "", "CUDA_HOME": str(self.cuda_home)}
        variables.update(environment)
        return subprocess.run([self.root / "scripts/run", *arguments], cwd=self.elsewhere, env=variables,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def calls(self, prefix):
        return [line for line in self.calls_file.read_text().splitlines() if line.startswith(prefix)]


class SetUp(FolderTest):
    def setUp(self):
        super().setUp()
        self.machine = Machine(self.folder)

    def test_runs_in_the_callers_folder_with_its_arguments_output_and_exit_code(self):
        done = self.machine.run("run", "--out", "a file.json")
        self.assertEqual(done.stdout, f"{self.machine.elsewhere}|run --out a file.json\n")
        self.assertEqual(done.returncode, 3)

    def test_without_arguments_runs_the_quick_suite(self):
        self.assertEqual(self.machine.run().stdout, f"{self.machine.elsewhere}|run --suite quick\n")

    def test_builds_the_program_alone_as_a_release(self):
        self.machine.run("info")
        configure, build = self.machine.calls("cmake")
        self.assertIn("-DCMAKE_BUILD_TYPE=Release", configure)
        self.assertIn("--target epochbench", build)

    def test_a_second_call_installs_and_configures_nothing(self):
        (self.machine.bin / "ninja").unlink()
        self.machine.run("info")
        self.assertTrue(self.machine.calls("apt-get"))
        done = self.machine.run("info")
        self.assertEqual(self.machine.calls("apt-get"), [])
        self.assertEqual(len(self.machine.calls("cmake")), 1)
        self.assertEqual(done.stderr, "")

    def test_a_missing_package_is_installed_after_one_update(self):
        (self.machine.bin / "ninja").unlink()
        done = self.machine.run("info")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(self.machine.calls("apt-get")), 3)
        self.assertIn("ninja-build", self.machine.calls("apt-get")[-1])
        self.assertNotIn("g++", self.machine.calls("apt-get")[-1])

    def test_the_compiler_that_is_named_is_installed_and_clangs_openmp_library_with_it(self):

        def packages(compiler):
            self.machine.run("info", CXX=compiler)
            return [word for word in self.machine.calls("apt-get")[-1].split() if word.startswith(("g++", "clang", "libomp"))]

        self.assertEqual(packages("g++-14"), ["g++-14"])
        self.assertEqual(packages("clang++-19"), ["clang-19", "libomp-19-dev"])
        self.assertEqual(packages("clang++"), ["clang", "libomp-dev"])
        self.machine.command("clang++-19")
        self.assertEqual(packages("clang++-19"), ["libomp-19-dev"])

    def test_a_compiler_in_another_place_is_taken_as_it_is(self):
        self.machine.command("clang++-20")
        self.assertEqual(self.machine.run("info", CXX=str(self.machine.bin / "clang++-20")).returncode, 3)
        self.assertEqual(self.machine.calls("apt-get"), [])

    def test_a_user_installs_with_sudo(self):
        self.machine.command("id", "echo 1000")
        (self.machine.bin / "ninja").unlink()
        self.machine.command("sudo", 'echo "sudo $*" >> "$CALLS"; shift; exec "$@"')
        self.assertEqual(self.machine.run("info").returncode, 3)
        self.assertTrue(all("-n" in call for call in self.machine.calls("sudo")), "asks for a password without a terminal")
        self.assertEqual(len(self.machine.calls("apt-get")), 3)

    def test_a_user_without_sudo_is_given_the_command_in_one_line(self):
        self.machine.command("id", "echo 1000")
        (self.machine.bin / "ninja").unlink()
        done = self.machine.run("info")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("apt-get install ninja-build", done.stderr)

    def test_a_failed_build_shows_its_errors_and_runs_nothing(self):
        done = self.machine.run("info", COMPILER_FAILS="yes")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("error: no such thing", done.stderr)

    def test_a_moved_repository_is_configured_again(self):
        self.machine.run("info")
        self.machine.root = self.machine.root.rename(self.folder / "moved")
        self.assertEqual(self.machine.run("info").returncode, 3)
        self.assertEqual(len(self.machine.calls("cmake")), 2)

    def test_an_nvidia_driver_without_cuda_is_reported(self):
        self.machine.command("nvidia-smi")
        self.assertIn("no CUDA backend", self.machine.run("info").stderr)
        (self.machine.root / "kernels/cuda").mkdir(parents=True)
        done = self.machine.run("info")
        self.assertIn("install the CUDA toolkit", done.stderr)
        self.assertEqual(done.returncode, 3)
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h")
        self.assertNotIn("CUDA", self.machine.run("info").stderr)

    def test_a_toolkit_that_comes_later_is_configured(self):
        self.machine.run("info")
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h")
        self.machine.run("info")
        self.assertEqual(len(self.machine.calls("cmake -S")), 1)
        self.machine.run("info")
        self.assertEqual(self.machine.calls("cmake -S"), [])

    def test_headers_that_cuda_lacks_are_fetched_once_by_their_hashes(self):
        self.machine.toolkit("cudnn.h")
        self.machine.command("python3", PYTHON)
        done = self.machine.run("info")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotIn("WARNING", done.stderr)
        (download,) = [call for call in self.machine.calls("python3") if "pip download" in call]
        self.assertIn("--require-hashes", download)
        (package,) = self.machine.calls("nvidia-")
        self.assertRegex(package, "^nvidia-cudnn-frontend==[0-9.]+ --hash=sha256:[0-9a-f]{64}$")
        self.machine.run("info")
        self.assertEqual(self.machine.calls("python3"), [])
        self.assertEqual(self.machine.calls("cmake -S"), [])

    def test_cudnn_is_fetched_for_the_toolkits_version(self):
        self.machine.toolkit("cudnn_frontend.h")
        self.machine.command("python3", PYTHON)
        self.machine.run("info")
        (package,) = self.machine.calls("nvidia-")
        self.assertTrue(package.startswith("nvidia-cudnn-cu12=="), package)

    def test_nccl_is_fetched_beside_mpi(self):
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h")
        self.machine.command("mpicc")
        self.machine.command("python3", PYTHON)
        done = self.machine.run("info", OFFLINE="yes")  # which costs ranks on GPUs, and no more
        self.assertIn("WARNING: no ranks on GPUs: could not fetch nvidia-nccl-cu12", done.stderr)
        self.assertNotIn("CPU-only", done.stderr)
        self.assertNotIn("WARNING", self.machine.run("info").stderr)
        packages = self.machine.calls("nvidia-")
        self.assertTrue(all(package.startswith("nvidia-nccl-cu12==") for package in packages), packages)
        self.machine.run("info")
        self.assertEqual(self.machine.calls("nvidia-"), [])

    def test_cudnn_beside_pytorch_is_not_fetched(self):
        self.machine.toolkit("cudnn_frontend.h")
        folder = self.folder / "site/nvidia/cudnn/include"
        folder.mkdir(parents=True)
        (folder / "cudnn.h").touch()
        self.machine.command("python3", f"case $1 in -c) echo {folder} ;; esac\n" + PYTHON)
        self.assertNotIn("WARNING", self.machine.run("info").stderr)
        self.assertEqual(self.machine.calls("nvidia-"), [])

    def test_without_a_network_the_cpu_is_measured_and_the_reason_is_given(self):
        self.machine.toolkit("cudnn.h")
        self.machine.command("python3", PYTHON)
        done = self.machine.run("info", OFFLINE="yes")
        self.assertEqual(done.returncode, 3)
        self.assertIn("WARNING: CPU-only build: could not fetch nvidia-cudnn-frontend", done.stderr)
        self.assertIn("no matching distribution", done.stderr)

    def test_without_python_the_cpu_is_measured_and_the_reason_is_given(self):
        self.machine.command("id", "echo 1000")
        self.machine.toolkit("cudnn.h")
        done = self.machine.run("info")
        self.assertEqual(done.returncode, 3)
        self.assertIn("apt-get install python3 python3-pip", done.stderr)
        self.assertIn("WARNING: CPU-only build", done.stderr)

    def test_a_toolkit_is_fetched_where_cuda_is_asked_for(self):
        self.machine.cuda_backend()
        self.machine.command("python3", PYTHON)
        self.assertEqual(self.machine.run("info", CUDA_HOME="").returncode, 3)
        self.assertEqual(self.machine.calls("nvidia-"), [], "it is large: only on request")
        done = self.machine.run("info", CUDA_HOME="", EPOCHBENCH_CUDA="ON")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no CUDA toolkit found; downloading", done.stderr)
        packages = [package.split("==")[0] for package in self.machine.calls("nvidia-")]
        self.assertEqual(packages[0], "nvidia-cuda-crt")
        self.assertEqual(len(packages), len(set(packages)))
        self.assertGreaterEqual({*packages}, {"nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-runtime", "nvidia-cublas",
                                              "nvidia-cudnn-cu13", "nvidia-cudnn-frontend"})
        toolkit = self.machine.root / "build/packages/nvidia/cu13"
        self.assertTrue(os.access(toolkit / "bin/nvcc", os.X_OK))
        self.assertTrue((toolkit / "lib64/libcudart.so").exists())
        again = self.machine.run("info", CUDA_HOME="", EPOCHBENCH_CUDA="ON")
        self.assertEqual((again.returncode, self.machine.calls("nvidia-")), (3, []), again.stderr)

    def test_cuda_that_was_asked_for_and_cannot_be_fetched_is_an_error(self):
        self.machine.cuda_backend()
        self.machine.command("python3", PYTHON)
        done = self.machine.run("info", CUDA_HOME="", EPOCHBENCH_CUDA="ON", OFFLINE="yes")
        self.assertEqual(done.returncode, 2)
        self.assertIn("EPOCHBENCH_CUDA is ON, but could not fetch nvidia-cuda-crt from the Python index", done.stderr)
        self.assertEqual(self.machine.calls("cmake"), [])

    def test_what_this_machine_cannot_run_is_not_built(self):
        self.machine.toolkit("cudnn.h", gpus=())
        self.machine.command("python3", PYTHON)
        done = self.machine.run("info")
        self.assertIn("EPOCHBENCH_KERNELS=all", done.stderr)
        self.assertIn("no GPU, so no CUDA code (EPOCHBENCH_CUDA=ON: all GPUs)", done.stderr)
        self.assertNotIn("WARNING", done.stderr)
        (configure,) = self.machine.calls("cmake -S")
        self.assertIn("-DEPOCHBENCH_KERNELS=native -DEPOCHBENCH_CUDA=OFF", configure)
        self.assertEqual(self.machine.calls("nvidia-"), [], "nothing is fetched for it either")
        self.assertEqual(self.machine.run("info").stderr, "", "it is said once")

    def test_cuda_without_a_gpu_is_built_for_all_where_it_is_asked_for(self):
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h", gpus=())
        self.machine.run("info", EPOCHBENCH_CUDA="ON")
        (configure,) = self.machine.calls("cmake -S")
        self.assertRegex(configure, "-DEPOCHBENCH_CUDA=ON -DEPOCHBENCH_CUDA_ARCHITECTURES=( |$)")

    def test_cuda_is_built_for_the_gpus_that_are_there(self):
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h", gpus=("8.0", "12.0", "8.0"))
        self.machine.run("info")
        (configure,) = self.machine.calls("cmake -S")
        self.assertIn("-DEPOCHBENCH_CUDA=AUTO -DEPOCHBENCH_CUDA_ARCHITECTURES=80-real;120-real", configure)
        self.machine.command("nvidia-smi", "echo 9.0")  # another card
        self.machine.run("info")
        self.assertIn("-DEPOCHBENCH_CUDA_ARCHITECTURES=90-real", self.machine.calls("cmake -S")[0])

    def test_cuda_is_built_for_the_gpus_that_are_named(self):
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h", gpus=())
        for kernels in ("native", "all"):
            said = self.machine.run("info", EPOCHBENCH_CUDA_ARCHITECTURES="75-real;90", EPOCHBENCH_KERNELS=kernels).stderr
            self.assertIn("; CUDA code for 75-real;90\n", said)
            self.assertIn("-DEPOCHBENCH_CUDA=AUTO -DEPOCHBENCH_CUDA_ARCHITECTURES=75-real;90", self.machine.calls("cmake -S")[0])

    def test_a_driver_too_old_to_say_what_its_gpus_are_gets_code_for_all(self):
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h", gpus=())
        self.machine.command("nvidia-smi", "echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2")
        self.machine.run("info")
        self.assertRegex(self.machine.calls("cmake -S")[0], "-DEPOCHBENCH_CUDA=AUTO -DEPOCHBENCH_CUDA_ARCHITECTURES=( |$)")

    def test_a_binary_that_travels_has_everything(self):
        self.machine.toolkit("cudnn.h", "cudnn_frontend.h", gpus=())
        self.machine.run("info", EPOCHBENCH_KERNELS="all")
        (configure,) = self.machine.calls("cmake -S")
        self.assertRegex(configure, "-DEPOCHBENCH_KERNELS=all -DEPOCHBENCH_CUDA=AUTO -DEPOCHBENCH_CUDA_ARCHITECTURES=( |$)")

    def test_kernels_that_do_not_exist_are_refused(self):
        done = self.machine.run("info", EPOCHBENCH_KERNELS="avx2")
        self.assertEqual((done.returncode, done.stderr), (2, "scripts/run: EPOCHBENCH_KERNELS is avx2; use all or native\n"))

    def test_libraries_are_installed_and_built_where_they_are_asked_for(self):
        self.machine.run("info")
        self.assertNotIn("EPOCHBENCH_LIBRARIES", "".join(self.machine.calls("cmake -S")))
        self.machine.run("info", EPOCHBENCH_LIBRARIES="ON")
        installs = [call for call in self.machine.calls("apt-get") if " install " in call]
        self.assertIn("libopenblas-openmp-dev", "".join(installs))
        self.assertIn("-DEPOCHBENCH_LIBRARIES=ON", "".join(self.machine.calls("cmake -S")))
        done = self.machine.run("info", EPOCHBENCH_LIBRARIES="yes")
        self.assertEqual((done.returncode, done.stderr), (2, "scripts/run: EPOCHBENCH_LIBRARIES is yes; use ON or OFF\n"))

    def test_a_folder_that_moved_to_another_cpu_is_configured_again(self):
        self.machine.run("info")
        (self.machine.root / "build/supported_instruction_sets").write_text("#!/bin/sh\nprintf 'portable;avx2;avx512'\n")
        self.machine.run("info")
        self.assertEqual(len(self.machine.calls("cmake -S")), 1)
        self.machine.run("info", EPOCHBENCH_KERNELS="all")
        (self.machine.root / "build/supported_instruction_sets").write_text("#!/bin/sh\nprintf 'portable'\n")
        self.machine.run("info", EPOCHBENCH_KERNELS="all")
        self.assertEqual(self.machine.calls("cmake -S"), [], "kernels for any machine fit this one")

    def test_cuda_can_be_left_out(self):
        self.machine.toolkit()
        self.machine.command("python3", PYTHON)
        self.machine.run("info", EPOCHBENCH_CUDA="OFF")
        self.assertEqual(self.machine.calls("python3"), [])
        self.assertIn("-DEPOCHBENCH_CUDA=OFF", self.machine.calls("cmake -S")[0])


class Architectures(unittest.TestCase):
    """The GPUs for which CMake builds, with an nvcc that knows some."""

    def test_those_that_are_asked_for_where_nvcc_knows_them(self):
        every = "75-real;90-real;120-real;120-virtual"
        with tempfile.TemporaryDirectory() as folder:
            nvcc = pathlib.Path(folder) / "nvcc"
            nvcc.write_text("#!/bin/sh\nprintf 'compute_75\\ncompute_90\\ncompute_120\\n'\n")
            nvcc.chmod(0o755)
            script = pathlib.Path(folder) / "script.cmake"
            script.write_text(f"include({REPOSITORY}/cmake/EpochbenchCudaArchitectures.cmake)\n"
                              'epochbench_cuda_architectures(built)\nmessage("built ${built}")\n')
            for asked, built in (("90", "90"), ("75-real;90", "75-real;90"), ("120-real", "120-real"), ("native", "native"), ("all", "all"),
                                 ("", every), ("70", every), ("80", every), ("12", every), ("90;130", every)):
                done = subprocess.run(["cmake", f"-DEPOCHBENCH_NVCC={nvcc}", f"-DEPOCHBENCH_CUDA_ARCHITECTURES={asked}", "-P", script],
                                      capture_output=True, text=True, check=True)
                self.assertIn(f"built {built}\n", done.stderr, asked)
                self.assertEqual("builds nothing for" in done.stdout, bool(asked) and built == every, asked)


if __name__ == "__main__":
    unittest.main()
