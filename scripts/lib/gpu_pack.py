"""One archive of the headers and sources that a build needs and a bare CUDA image lacks: written where the packages are
installed, read on a machine without network. It contains a prefix as CMake searches it: include/, lib/, share/cmake/, and
src/googletest for the tests.
"""

import io
import json
import lzma
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

from checks import commit

PACK_BYTES = 25 * 10 ** 6
# Which parts of a system's /usr go where; {multiarch} is the folder of this processor's libraries.
PARTS = {"nlohmann-json3-dev": {"include/nlohmann": "include/nlohmann", "share/cmake/nlohmann_json": "share/cmake/nlohmann_json"},
         "libcli11-dev": {"include/CLI": "include/CLI", "share/cmake/CLI11": "share/cmake/CLI11"},
         "libxxhash-dev": {"include/xxhash.h": "include/xxhash.h", "include/xxh3.h": "include/xxh3.h"},
         "libpcre2-dev": {"include/pcre2.h": "include/pcre2.h", "lib/{multiarch}/libpcre2-8.a": "lib/libpcre2-8.a"},
         "libutf8proc-dev": {"include/utf8proc.h": "include/utf8proc.h", "lib/{multiarch}/libutf8proc.a": "lib/libutf8proc.a"},
         "zlib1g-dev": {"include/zlib.h": "include/zlib.h", "include/zconf.h": "include/zconf.h",
                        "lib/{multiarch}/libz.a": "lib/libz.a"},
         "googletest": {"src/googletest": "src/googletest"}}
NOT_NEEDED = ("test", "samples", "docs")  # of GoogleTest's folders


class PackError(Exception):
    """One line: what is wrong, where, and how to fix it."""


def write_pack(file, root, sources, packages, system="/usr"):
    """sources: their digest. packages: folders that may have cudnn_frontend's headers. Returns the size in bytes."""
    system, out = pathlib.Path(system), io.BytesIO()
    multiarch = f"{platform.machine()}-linux-gnu"
    with tarfile.open(fileobj=out, mode="w:xz", preset=6) as archive:
        add_text(archive, "pack.json", json.dumps({"processor": platform.machine(), "sources": sources, "commit": commit(root)}))
        for package, paths in PARTS.items():
            for source, target in paths.items():
                path = system / source.format(multiarch=multiarch)
                if not path.exists():
                    raise PackError(f"{path} is missing: install {package}")
                archive.add(path, target, filter=lambda member: None if set(pathlib.PurePath(member.name).parts[2:]) &
                            set(NOT_NEEDED) else member)
        with tempfile.TemporaryDirectory() as folder:
            frontend = next((each / "include" for each in (*packages, system) if (each / "include/cudnn_frontend.h").exists()), None)
            frontend = frontend or fetch_frontend(root, pathlib.Path(folder))
            for path in sorted(frontend.glob("cudnn_*")):
                if path.name.startswith(("cudnn_frontend", "cudnn_backend_base.h")):
                    archive.add(path, f"include/{path.name}")
    data = out.getvalue()
    if len(data) > PACK_BYTES:
        raise PackError(f"the pack would have {len(data) / 1e6:.0f} MB, more than {PACK_BYTES / 1e6:.0f}")
    pathlib.Path(file).write_bytes(data)
    return len(data)


def add_text(archive, name, text):
    member = tarfile.TarInfo(name)
    member.size = len(text.encode())
    archive.addfile(member, io.BytesIO(text.encode()))


def fetch_frontend(root, folder):
    """cudnn_frontend from the Python index, as scripts/lib/cuda.sh does."""
    lines = (root / "scripts/lib/cuda-packages.txt").read_text().splitlines()
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join(line for line in lines if line.startswith("nvidia-cudnn-frontend==")) + "\n")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:",
                           "--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux_2_28_x86_64",
                           "--platform", "manylinux_2_27_x86_64", "--dest", folder, "--requirement", wanted],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise PackError("cudnn_frontend.h is missing, and pip could not fetch nvidia-cudnn-frontend: check the network, or name a "
                        "folder with include/cudnn_frontend.h as EPOCHBENCH_PACKAGES")
    for wheel in folder.glob("*.whl"):
        shutil.unpack_archive(wheel, folder, "zip")
    return folder / "include"


def open_pack(file, into):
    """Unpacks a pack; returns its facts."""
    try:
        with tarfile.open(file) as archive:
            members = archive.getmembers()
            for member in members:
                name = pathlib.PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
                    raise PackError(f"{file} contains {member.name}: it is not a pack of check_gpu --pack")
            shutil.rmtree(into, ignore_errors=True)
            archive.extractall(into)
        facts = json.loads((into / "pack.json").read_text())
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(":")
        raise PackError(f"--packages: {file} is not a pack of check_gpu --pack ({reason}): write it again, or copy it again") from error
    if facts.get("processor") != platform.machine():
        raise PackError(f"--packages: {file} is for {facts.get('processor')}, and this machine is {platform.machine()}: "
                        "write it on such a machine")
    return facts
