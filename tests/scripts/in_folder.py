"""Tests in a folder of their own."""
import pathlib
import tempfile
import unittest


class FolderTest(unittest.TestCase):
    """`folder` has no symbolic link in its path, and is removed after each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
