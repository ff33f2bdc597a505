"""What the program says of a GPU that is not there: drivers that are made up, by a libcuda.so.1 that a C compiler makes."""
import os
import pathlib
import subprocess
import unittest

from support import QUICK, CliTest

# The CUDA runtime takes every function of the driver from cuGetProcAddress; those that are not here are never called, as
# nothing goes on after cuInit.
DRIVER = r"""
#include <string.h>
int cuInit(unsigned flags) { return INIT_STATUS; }
int cuDriverGetVersion(int* version) { *version = VERSION; return 0; }
static int never(void) { return 999; }
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* found) {
  if (found) *found = 0;
  *function = !strcmp(name, "cuInit") ? (void*)cuInit
            : !strcmp(name, "cuDriverGetVersion") ? (void*)cuDriverGetVersion
            : !strcmp(name, "cuGetProcAddress") ? (void*)cuGetProcAddress_v2 : (void*)never;
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, 0);
}
"""
NO_DEVICE = 100


class Drivers(CliTest):
    def call_with(self, *arguments, init_status=0, version=13000, **environment):
        """The program with such a driver."""
        source = self.folder / "driver.c"
        source.write_text(DRIVER)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", f"-DINIT_STATUS={init_status}", f"-DVERSION={version}",
                        "-o", self.folder / "libcuda.so.1", source], check=True)
        return self.call(*arguments, env={**os.environ, "LD_LIBRARY_PATH": str(self.folder), **environment})

    def refused(self, *parts, **driver):
        call = self.call_with("run", *QUICK, "--device", "cuda:0", "--out", self.out, "--overwrite", **driver)
        self.assert_refused(call, 3, "cuda:0", *parts)
        self.assertFalse(self.out.exists())

    def test_a_driver_without_a_gpu(self):
        self.refused("finds no GPU", init_status=NO_DEVICE)

    def test_gpus_that_are_hidden(self):
        self.refused('CUDA_VISIBLE_DEVICES is "-1"', init_status=NO_DEVICE, CUDA_VISIBLE_DEVICES="-1")

    def test_a_driver_that_is_too_old_is_reported_with_both_versions(self):
        self.refused("too old", "CUDA 11.0", "build needs CUDA 1", version=11000)

    def test_a_driver_that_does_not_start(self):
        self.refused("CUDA does not start", "driver", init_status=803)  # cudaErrorSystemDriverMismatch

    def test_a_suite_goes_on_without_the_gpu(self):
        call = self.call_with("run", *QUICK, "--device", "cpu,cuda:0", "--out", self.out, init_status=NO_DEVICE)
        self.assertEqual(call.returncode, 3, call.stderr)
        runs = {run["name"]: run for run in self.result()["runs"]}
        self.assertEqual([run["status"] for run in runs.values()], ["ok", "skipped"])
        self.assertIn("finds no GPU", next(run["message"] for run in runs.values() if run["status"] == "skipped"))

    def test_devices_are_listed_with_the_reason(self):
        call = self.call_with("list", "devices", version=11000)
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertRegex(call.stdout, "(?m)^cuda:0: not usable: the NVIDIA driver is too old")


class NoDriver(CliTest):
    def test_is_reported(self):
        if os.path.exists("/proc/driver/nvidia/version"):
            self.skipTest("this machine has an NVIDIA driver")
        self.assert_refused(self.call("run", *QUICK, "--device", "cuda:0", "--out", self.out), 3, "cuda:0", self.cause())
        self.assertEqual("install" in self.call("run", *QUICK, "--device", "cuda:0", "--out", self.out).stderr, self.present())

    def present(self):
        vendors = pathlib.Path("/sys/bus/pci/devices").glob("*/vendor")
        return any(pathlib.Path("/dev").glob("nvidia*")) or any("0x10de" in vendor.read_text() for vendor in vendors)

    def cause(self):
        return "no driver for it" if self.present() else "has no NVIDIA GPU"

    def test_is_reported_once_for_all_devices_and_cases(self):
        call = self.call("run", *QUICK, "--device", "cpu,cuda:0,cuda:1", "--precision", "fp32,bf16", "--out", self.out)
        self.assertEqual(call.returncode, 3, call.stderr)
        self.assertEqual(call.stderr.count(self.cause()), 1, call.stderr)


if __name__ == "__main__":
    unittest.main()
