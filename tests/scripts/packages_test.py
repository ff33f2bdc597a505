"""The wheel and the SBOM that scripts/package makes, of a tarball with a small program in place of epochbench."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

LIB = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"
ENVIRONMENT = {**os.environ, "SOURCE_DATE_EPOCH": "1764000000"}
PROGRAM = "epochbench-1.2.0.data/scripts/epochbench"


@unittest.skipUnless(shutil.which("objdump"), "needs binutils")
class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="epochbench-wheel-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def make(self, program, name="epochbench-1.2.0-linux-x86_64.tar.gz"):
        with tarfile.open(self.folder / name, "w:gz") as packed:
            for path, file in {"bin/epochbench": program, "share/doc/epochbench/LICENSE": __file__,
                               "share/doc/epochbench/licenses/libpng-dev": __file__, "share/man/man1/epochbench.1": __file__,
                               "share/epochbench/peers/training.py": __file__}.items():
                packed.add(file, f"epochbench-1.2.0-linux-x86_64/{path}")
        return subprocess.run([sys.executable, LIB / "make_wheel.py", self.folder / name, self.folder], env=ENVIRONMENT,
                              capture_output=True, text=True)

    def compiled(self, *libraries):
        program = self.folder / "program"
        subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-", "-o", program, "-Wl,--no-as-needed", *libraries], check=True, text=True,
                       input="#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n")
        return program

    def test_holds_the_program_with_its_permissions_and_a_right_record(self):
        call = self.make(self.compiled())
        self.assertEqual(call.returncode, 0, call.stderr)
        path = pathlib.Path(call.stdout.strip())
        self.assertRegex(path.name, r"^epochbench-1\.2\.0-py3-none-manylinux_2_\d+_x86_64\.whl$")
        with zipfile.ZipFile(path) as wheel:
            self.assertEqual(wheel.getinfo(PROGRAM).external_attr >> 16 & 0o777, 0o755)
            names = wheel.namelist()
            self.assertIn("epochbench-1.2.0.dist-info/licenses/libpng-dev", names)
            self.assertNotIn("share/man/man1/epochbench.1", names)
            self.assertIn("epochbench-1.2.0.data/data/share/epochbench/peers/training.py", names)  # of `run --with pytorch`
            rows = list(csv.reader(io.StringIO(wheel.read("epochbench-1.2.0.dist-info/RECORD").decode())))
            self.assertEqual(sorted(row[0] for row in rows), sorted(names))
            for name, digest, size in rows[:-1]:
                content = wheel.read(name)
                want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={want}", str(len(content))))

    def test_equal_tarballs_give_equal_wheels(self):
        program = self.compiled()
        first = pathlib.Path(self.make(program).stdout.strip()).read_bytes()
        os.utime(program)  # times of the tarball are not the wheel's
        self.assertEqual(pathlib.Path(self.make(program).stdout.strip()).read_bytes(), first)

    def test_refuses_what_no_wheel_can_carry(self):
        call = self.make(self.compiled("-lz"))
        self.assertEqual(call.returncode, 1)
        self.assertIn("needs libz.so.1", call.stderr)
        call = self.make(self.compiled(), name="epochbench.tar.gz")
        self.assertIn("is not a tarball of scripts/package", call.stderr)


if __name__ == "__main__":
    unittest.main()
