"""The end of a process in the middle of writing files, and small limits on what is written, for tests of scripts/check_gpu. No test
by itself."""

import contextlib
import pathlib
import unittest.mock

TOUCHED = ("write_bytes", "replace", "unlink")


class Killed(BaseException):
    """The end of a call without a chance to write anything more."""


@contextlib.contextmanager
def killed_at(number):
    """Within it, the call with this number, from 0, of those that change files raises Killed; a file is then written in half. None:
    all goes well."""
    real, calls = {name: getattr(pathlib.Path, name) for name in TOUCHED}, []

    def stand_in(name):
        def touch(path, *arguments, **options):
            calls.append(name)
            if number is None or len(calls) <= number:
                return real[name](path, *arguments, **options)
            if name == "write_bytes":
                real[name](path, arguments[0][:len(arguments[0]) // 2])
            raise Killed
        return touch

    with contextlib.ExitStack() as stack:
        for name in TOUCHED:
            stack.enter_context(unittest.mock.patch.object(pathlib.Path, name, stand_in(name)))
        yield calls


def parts_of(test, gpu_state, part_bytes):
    """Files of the state have at most so many bytes instead of 16 MiB, and the rest in proportion, since compression takes its time."""
    for name, value in (("PART_BYTES", part_bytes - 1), ("TRAVELING_BYTES", 60 * part_bytes // 16), ("LOG_BYTES", part_bytes // 64)):
        patched = unittest.mock.patch.object(gpu_state, name, value)
        patched.start()
        test.addCleanup(patched.stop)
