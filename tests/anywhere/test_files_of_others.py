"""Data, vocabularies and weights as others lay them out: each is read, or named for what it is, with what to do about it; none
silently gives other samples."""
import gzip
import io
import pathlib
import struct
import tarfile
import unittest

from support import CliTest, known_peaks

IMAGES = ["run", "resnet18:classes=4,height=64,width=64", "--batch", "2", "--dry-run", "--data"]
TEXT = ["run", "lstm-lm", "--batch", "2", "--dry-run", "--data"]
DIGITS = ["run", "lenet5", "--batch", "2", "--dry-run", "--data"]
COLORS = ["run", "resnet20", "--batch", "2", "--dry-run", "--data"]
VOCABULARY = pathlib.Path(__file__).resolve().parents[1] / "data"


class Files(CliTest):
    def write(self, name, content=b"x"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def image_set(self, name="set", train="train", val="val"):
        for split in (train, val):
            for each in ("a/1.png", "a/2.png", "b/3.png", "b/4.png"):
                self.write(f"{name}/{split}/{each}")
        return self.folder / name

    def assert_taken(self, call, note=""):
        self.assertEqual(call.returncode, 0, call.stderr)
        self.assertIn(note, call.stderr) if note else self.assertEqual(call.stderr, "")

    def archive(self, name="set.tar", **of):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            tar.add(self.image_set(**of), arcname=".")
        return self.write(name, file.getvalue())


class ImageSets(Files):
    def test_splits_of_other_names_are_named(self):
        for split, other in (("val", "validation"), ("val", "valid"), ("val", "test"), ("val", "Val"), ("train", "Train"), ("train", "training")):
            with self.subTest(other):
                place = self.image_set(name=other, **{split: other})
                self.assert_refused(self.call(*IMAGES, f"images:{place}"), 2, f"has no folder {split}: rename '{other}' to {split}")

    def test_a_folder_too_high_or_too_low_is_named(self):
        self.image_set("above/imagenet")
        self.assert_refused(self.call(*IMAGES, f"images:{self.folder}/above"), 2, "above/imagenet' has train and val: name that")
        self.assert_refused(self.call(*IMAGES, f"images:{self.folder}/above/imagenet/train"), 2, "(but 'a', 'b')")

    def test_pictures_of_no_class_are_counted(self):
        place = self.image_set()
        self.assert_taken(self.call(*IMAGES, f"images:{place}"))
        for name in ("train/loose.jpg", "val/loose.PNG"):
            self.write(f"set/{name}")
        said = "left out 2 images of no class, directly in train or val"
        self.assert_taken(self.call(*IMAGES, f"images:{place}"), said)
        self.assert_taken(self.call(*IMAGES, f"images:{self.archive()}"), said)

    def test_a_link_to_a_folder_is_no_other_file(self):
        place = self.image_set()
        self.write("more/9.png")
        (place / "train/a/more").symlink_to(self.folder / "more")
        self.assert_refused(self.call(*IMAGES, f"images:{place}"), 2, "train/a' has the folder 'more'")

    def test_an_archive_that_was_cut_off_between_two_files_says_so(self):
        path = self.archive()
        self.assert_taken(self.call(*IMAGES, f"images:{path}"))
        content = path.read_bytes().rstrip(b"\0")
        whole = content + b"\0" * (-len(content) % 512)
        for missing in (0, 1024):  # the end marker alone; the last file, too, which is one block with its header before it
            with self.subTest(missing):
                path.write_bytes(whole[:len(whole) - missing])
                self.assert_taken(self.call(*IMAGES, f"images:{path}"), "without the end marker of an archive, so files may be missing")


class OtherSets(Files):
    def mnist(self, folder):
        for split, count in (("train", 20), ("t10k", 10)):
            self.write(f"{folder}/{split}-images-idx3-ubyte", struct.pack(">IIII", 2051, count, 28, 28) + bytes(784 * count))
            self.write(f"{folder}/{split}-labels-idx1-ubyte", struct.pack(">II", 2049, count) + bytes(count))

    def test_the_folder_that_has_the_files_is_named(self):
        self.mnist("root/MNIST/raw")
        self.assert_taken(self.call(*DIGITS, f"idx:{self.folder}/root/MNIST/raw"))
        self.assert_refused(self.call(*DIGITS, f"idx:{self.folder}/root"), 2, "root/MNIST/raw' has: name that")
        file = self.folder / "root/MNIST/raw/train-images-idx3-ubyte"
        self.assert_refused(self.call(*DIGITS, f"idx:{file}"), 2, "is a file: name its folder")
        self.write("kaggle/train.csv")
        self.assert_refused(self.call(*DIGITS, f"idx:{self.folder}/kaggle"), 2, "(but 'train.csv')", "MNIST's four files")

    def test_cifar_in_other_forms_is_named(self):
        record = bytes(3073)
        for number in range(1, 6):
            self.write(f"root/cifar-10-batches-bin/data_batch_{number}.bin", record)
            self.write(f"python/cifar-10-batches-py/data_batch_{number}", b"\x80\2")
        self.write("root/cifar-10-batches-bin/test_batch.bin", record)
        inside = self.folder / "root/cifar-10-batches-bin"
        self.assert_taken(self.call(*COLORS, f"cifar10:{inside}"))
        self.assert_refused(self.call(*COLORS, f"cifar10:{self.folder}/root"), 2, "cifar-10-batches-bin' has: name that")
        for place in ("python", "python/cifar-10-batches-py"):
            self.assert_refused(self.call(*COLORS, f"cifar10:{self.folder}/{place}"), 2, "Python version", "cifar-10-binary.tar.gz")
        (inside / "data_batch_3.bin").unlink()
        self.assert_refused(self.call(*COLORS, f"cifar10:{inside}"), 2, "has no data_batch_3.bin")

    def test_names_of_sets_lead_to_their_kind(self):
        for call, name, said in ((DIGITS, "MNIST", "--data idx:DIR"), (COLORS, "cifar-10", "--data cifar10:DIR"),
                                 (COLORS, "ImageNet", "--data images:PATH"), (TEXT, "wikitext-2", "--data text:FILE"),
                                 (DIGITS, "cifar10", "cifar10:DIR, which the model does not take"), (DIGITS, "digits/", "did you mean digits?")):
            with self.subTest(name):
                self.assert_refused(self.call(*call, name), 2, f"unknown data '{name}'", said)


class Texts(Files):
    PLAIN = "Grüße an alle. The quick brown fox jumps over the lazy dog. " * 40

    def test_a_text_has_no_zeros_anywhere(self):
        plain = self.PLAIN.encode() * 4
        self.assert_taken(self.call(*TEXT, f"text:{self.write('plain.txt', plain)}"))
        for name, content in (("end", plain + bytes(4096)), ("middle", plain[:8000] + b"\0" + plain[8000:])):
            with self.subTest(name):
                zero = content.index(0)
                self.assertGreater(zero, 4096)
                self.assert_refused(self.call(*TEXT, f"text:{self.write(name, content)}"), 2, f"its byte {zero} is 0")

    def test_other_files_are_no_texts(self):
        filler = bytes(range(1, 256)) * 8
        for content, what in ((b"%PDF-1.7\n" + filler, "a PDF document"), (b"PAR1" + filler, "a Parquet file"),
                              (b"\x28\xb5\x2f\xfd" + filler, "compressed by zstd"), (b"\xfd7zXZ" + filler, "compressed by xz"),
                              (b"BZh91AY&SY" + filler, "compressed by bzip2"), (b"PK\3\4" + filler, "a zip archive"),
                              (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 9\n", "git lfs pull")):
            with self.subTest(what):
                self.assert_refused(self.call(*TEXT, f"text:{self.write('file', content)}"), 2, what, "not text")
        self.assert_taken(self.call(*TEXT, f"text:{self.write('packed', gzip.compress(self.PLAIN.encode()))}"))
        self.assert_taken(self.call(*TEXT, f"text:{self.write('cars', b'BMW and Audi make cars. ' * 20)}"))

    def test_what_cannot_be_read_again_is_refused_at_once(self):
        self.assert_refused(self.call(*TEXT, f"text:{self.folder}"), 2, "is a folder: name a file in it")
        self.assert_refused(self.call(*TEXT, "text:/dev/zero"), 2, "every process reads its data again")

    def test_bytes_that_a_tokenizer_does_not_take_as_text_are_counted(self):
        latin = self.write("latin1.txt", self.PLAIN.encode("latin-1"))
        count = 2 * 40  # ü and ß
        masked = [*TEXT[:1], "bert-base:layers=1,units=64,heads=2,sequence=32", *TEXT[2:]]
        tokens = ["--tokenizer", f"gpt2:{VOCABULARY}/gpt2"]
        pieces = ["--tokenizer", f"wordpiece:{VOCABULARY}/wordpiece/uncased.txt"]
        self.assert_taken(self.call(*TEXT, f"text:{latin}", *tokens), f"{count} bytes of the text are not UTF-8, and each is a token of its own")
        self.assert_taken(self.call(*masked, f"text:{latin}", *pieces), f"{count} bytes of the text are not UTF-8, and word pieces leave them out")
        plain = self.write("utf8.txt", self.PLAIN)
        self.assertNotIn("UTF-8", self.call(*masked, f"text:{plain}", *pieces).stderr)
        self.assert_taken(self.call(*TEXT, f"text:{latin}"))  # bytes are bytes


class WeightsOfOthers(Files):
    def test_formats_of_other_programs_are_named(self):
        filler = bytes(200)
        for content, what, remedy in ((b"PK\3\4" + filler, "a zip archive", "safetensors.torch.save_file"),
                                      (b"\x80\2\x8a\nl" + filler, "a Python pickle", "safetensors.torch.save_file"),
                                      (b"\x89HDF\r\n\x1a\n" + filler, "an HDF5 file", "name an intact safetensors file"),
                                      (b"GGUF\3\0\0\0" + filler, "a GGUF file", "name an intact safetensors file"),
                                      (b"version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS", "git lfs pull"),
                                      (b"<!DOCTYPE html><html>404", "an HTML page", "name an intact safetensors file"),
                                      (gzip.compress(filler), "compressed by gzip", "zcat")):
            with self.subTest(what):
                path = self.write("weights.bin", content)
                self.assert_refused(self.call("run", "mlp", "--init", path, *known_peaks(), "-o", self.out), 2, what, "not a safetensors file", remedy)

    def test_an_index_that_is_not_there_is_no_data(self):
        call = self.call("run", "mlp", "--init", "model.safetensors.index.json", *known_peaks(), "-o", self.out)
        self.assert_refused(call, 2, "'model.safetensors.index.json' cannot be found", "--init")


if __name__ == "__main__":
    unittest.main()
