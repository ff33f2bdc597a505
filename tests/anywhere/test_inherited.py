"""What a process inherits from the one that starts it: descriptors, signals and rounding that are not the usual ones."""
import subprocess
import unittest

from support import BINARY, CliTest


class Inherited(CliTest):
    def test_output_that_nobody_receives_is_an_error(self):
        done = subprocess.run(["bash", "-c", 'exec "$0" list models >&-', BINARY], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write the output", done.stderr)


if __name__ == "__main__":
    unittest.main()
