"""scripts/lib/fma_throughput.py on a listing that is made up, with stand-ins for objdump and llvm-mca."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib" / "fma_throughput.py"

LISTING = """
0000000000000000 <void compute_tile<(AccessA)0, 11, 2>(Tile const&)>:
   0:	fmla	v1.4s, v2.4s, v3.s[0]
   4:	fmla	v4.4s, v2.4s, v3.s[1]
   8:	fmla	v5.4s, v2.4s, v3.s[1]
   c:	fmla	v6.4s, v2.4s, v3.s[1]
  10:	ret

0000000000000014 <void compute_tile<(AccessA)0, 12, 2>(Tile const&)>:
  14:	fmla	v1.4s, v2.4s, v3.s[0]
  18:	b.le	24 <void compute_tile<(AccessA)0, 12, 2>(Tile const&)+0x10>
  1c:	ldr	q0, [x1]
  20:	nop
  24:	ldp	q2, q3, [x0], #32
  28:	fmla	v1.4s, v2.4s, v3.s[0]
  2c:	fmla	v4.4s, v2.4s, v3.s[1]
  30:	b.ne	24 <void compute_tile<(AccessA)0, 12, 2>(Tile const&)+0x10>  // b.any
  34:	ret
"""
# Two instructions per cycle, of any kind.
MCA = """
import sys
iterations = int(next(a for a in sys.argv if a.startswith("-iterations=")).split("=")[1])
lines = [line for line in sys.stdin if not line.startswith(".arch")]
assert not any(line.startswith("b.") for line in lines)
print("Total Cycles:      ", iterations * len(lines) // 2)
"""


class FmaThroughput(unittest.TestCase):
    def run_it(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            programs = []
            for name, text in ("objdump", f"print({LISTING!r})"), ("mca", MCA):
                path = pathlib.Path(folder) / name
                path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
                path.chmod(0o755)
                programs.append(f"--{name}={path}")
            return subprocess.run([sys.executable, SCRIPT, *programs, *arguments], capture_output=True, text=True, check=False)

    def test_takes_the_loop_of_the_function(self):
        done = self.run_it("--least=60", "x.o", "fmla", "AccessA)0, 12, 2>")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            f"{cpu}: 2 fmla of 3 instructions, 1.33 per cycle of 2.00: 66.7 %" for cpu in ("neoverse-v1", "neoverse-v2")])

    def test_less_than_asked_fails(self):
        self.assertEqual(self.run_it("--least=67", "x.o", "fmla", "AccessA)0, 12, 2>").returncode, 1)

    def test_another_function_or_instruction_is_an_error(self):
        self.assertEqual(self.run_it("x.o", "fmla", "AccessA)0, 13, 2>").returncode, 2)
        done = self.run_it("x.o", "bfmmla", "AccessA)0, 12, 2>")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no bfmmla in a function named", done.stderr)


if __name__ == "__main__":
    unittest.main()
