"""cuda_resources.py on recorded output of nvcc 13.0, and on kernels that take too much."""

import json
import pathlib
import tempfile
import unittest

import cuda_resources
from cuda_resources import Bounds, Usage

FILL = "_ZN10epochbench4cuda45_GLOBAL__N__9a65e5a7_12_embedding_cu_f11aa88311fill_kernelI6__halfLi4EEEvPfPKT_l"
SET = "_ZN10epochbench4cuda45_GLOBAL__N__289b3728_12_optimizer_cu_0e9e4d2410set_kernelEPii"
PRINTED = f"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{FILL}' for 'sm_75'
ptxas info    : Function properties for {FILL}
    8 bytes stack frame, 28 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 8 bytes cumulative stack size, 5120 bytes smem, 392 bytes cmem[0]
ptxas info    : Compile time = 74.566 ms
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{SET}' for 'sm_90a'
ptxas info    : Function properties for {SET}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""
PTX = f"""
.version 9.0
.target sm_90
.address_size 64
.entry {SET}(
	.param .u64 {SET}_param_0,
	.param .align 8 .b8 {SET}_param_1[16]
)
.maxntid 128, 2, 1
.minnctapersm 3
{{
	ret;
}}
.visible .entry _Z5plainv()
{{
	ret;
}}
"""


def usage(registers=32, architecture=90, name=FILL, shared=0, stack=0, spilled=0):
    return Usage(name, architecture, registers, shared, stack, spilled)


class CudaResources(unittest.TestCase):
    def findings(self, expected, stated, **used):
        found = cuda_resources.findings(usage(**used), stated)
        self.assertEqual(len(found), expected, found)
        return found

    def test_reads_resource_usage(self):
        self.assertEqual(cuda_resources.usages(PRINTED), [
            Usage(FILL, 75, registers=72, shared=5120, stack=8, spilled=52),
            Usage(SET, 90, registers=8, shared=0, stack=0, spilled=0),
        ])

    def test_reads_launch_bounds(self):
        self.assertEqual(cuda_resources.bounds(PTX), {SET: Bounds(256, 3), "_Z5plainv": Bounds(None, None)})

    def test_names_kernels_in_namespaces(self):
        self.assertEqual(cuda_resources.kernel_name(FILL), "fill_kernel")
        self.assertEqual(cuda_resources.kernel_name(SET), "set_kernel")

    def test_local_memory_is_a_finding_with_and_without_spills(self):
        self.findings(0, Bounds(256, None))
        self.assertIn("256 bytes", self.findings(1, Bounds(256, None), stack=256)[0])
        self.findings(1, Bounds(256, None), stack=8, spilled=4)

    def test_registers_leave_room_for_the_stated_blocks(self):
        self.findings(0, Bounds(128, 3), registers=168)
        self.assertIn("leave 168", self.findings(1, Bounds(128, 3), registers=169)[0])
        self.findings(0, Bounds(100, 4), registers=128)  # whole warps
        self.findings(1, Bounds(100, 4), registers=129)

    def test_without_stated_blocks_there_is_room_for_1024_threads(self):
        for threads in (64, 256, 512):
            self.findings(0, Bounds(threads, None), registers=64)
            self.findings(1, Bounds(threads, None), registers=65)

    def test_kernels_that_need_less(self):
        self.findings(0, Bounds(1, None), registers=255, name=SET)
        self.assertEqual({name for name, (blocks, _) in cuda_resources.NEEDS.items() if blocks != 1}, set())

    def test_bounds_must_be_stated_and_sufficient(self):
        self.findings(1, Bounds(None, None))
        self.findings(1, Bounds(64, 3))
        self.findings(0, Bounds(64, 4))

    def test_shared_memory_and_threads_depend_on_the_architecture(self):
        self.findings(0, Bounds(256, 4), shared=16384, architecture=75)
        self.findings(1, Bounds(256, 4), shared=16385, architecture=75)
        self.findings(0, Bounds(256, 4), shared=24576, architecture=80)  # 1 KiB per block besides
        self.findings(1, Bounds(256, 4), shared=24577, architecture=80)
        self.findings(0, Bounds(256, 6), architecture=120)
        self.findings(1, Bounds(256, 7), architecture=121)
        self.findings(1, Bounds(256, 6), architecture=75)

    def test_takes_the_flags_of_the_build(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.cu")
            source.write_text("")
            commands = pathlib.Path(folder, "compile_commands.json")
            commands.write_text(json.dumps([
                {"directory": folder, "file": str(source), "command": f"/usr/bin/c++ -DON_CPU -c {source} -o a.o"},
                {"directory": folder, "file": str(source),
                 "command": f"ccache /cuda/bin/nvcc -I/a -O3 --generate-code=arch=compute_75,code=[sm_75] "
                            f"--generate-code=arch=compute_90,code=[compute_90,sm_90] -MD -MT a.o -MF a.d -x cu -c {source} -o a.o"}]))
            self.assertEqual(cuda_resources.nvcc_command(commands, source),
                             (["/cuda/bin/nvcc", "-I/a", "-O3", "-x", "cu", str(source)], folder, [75, 90], f"{folder}/a.o"))
            with self.assertRaises(SystemExit):
                commands.write_text("[]")
                cuda_resources.nvcc_command(commands, source)


if __name__ == "__main__":
    unittest.main()
