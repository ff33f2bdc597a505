#!/usr/bin/env python3
"""make_wheel.py TARBALL DIR: a Python wheel of the program, the scripts for `run --with pytorch` and the licenses in
scripts/package's tarball; prints its path.

`pip install` puts the program into the environment's bin/ and the scripts into its share/epochbench/peers. The tag names the newest glibc whose symbols the
program asks for. Equal tarballs give equal wheels: times are SOURCE_DATE_EPOCH, names are sorted.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

POLICY = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")  # a part of what manylinux allows


def dynamic_section(program):
    return subprocess.run(["objdump", "-p", program], check=True, capture_output=True, text=True).stdout


def platform_tag(program, processor):
    """manylinux_2_34_x86_64; an error where the program needs more than glibc."""
    section = dynamic_section(program)
    others = [name for name in re.findall(r"NEEDED +(\S+)", section) if name not in POLICY]
    if others:
        sys.exit(f"make_wheel: {program} needs {', '.join(others)}, which no manylinux machine must have; link them statically")
    versions = [tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_(\d+\.\d+)", section)]
    return "manylinux_{}_{}_{}".format(*max(versions), processor)


def metadata(name, version):
    return f"""Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Benchmark of deep learning training on CPUs and NVIDIA GPUs
Keywords: benchmark,deep learning,training
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
License: Apache-2.0
Description-Content-Type: text/plain

Trains real networks with identical work on every device, and reports
throughput, epoch time, cost and energy with intervals. The package brings
one program, epochbench, and no Python module: epochbench --help.
"""


def record_line(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def write_wheel(path, files, record):
    """files: path -> (content, permissions)."""
    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip begins in 1980
    files[record] = ("".join(record_line(name, files[name][0]) for name in sorted(files)) + f"{record},,\n", 0o644)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (content, permissions) in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.create_system = 3  # Unix, whose permissions follow
            entry.external_attr = (0o100000 | permissions) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)


def main(tarball, folder):
    match = re.fullmatch(r"(\w+)-([\d.]+)-linux-(\w+)\.tar\.gz", pathlib.Path(tarball).name)
    if not match:
        sys.exit(f"make_wheel: {tarball} is not a tarball of scripts/package, NAME-VERSION-linux-PROCESSOR.tar.gz")
    name, version, processor = match.groups()
    info = f"{name}-{version}.dist-info"
    files = {}
    with tarfile.open(tarball) as packed, tempfile.TemporaryDirectory() as scratch:
        members = {member.name.split("/", 1)[-1]: member for member in packed.getmembers() if member.isfile()}
        program = packed.extractfile(members[f"bin/{name}"]).read()
        copy = pathlib.Path(scratch, name)
        copy.write_bytes(program)
        tag = f"py3-none-{platform_tag(copy, processor)}"
        files[f"{name}-{version}.data/scripts/{name}"] = (program, 0o755)
        documents, peers = f"share/doc/{name}/", f"share/{name}/peers/"
        for path in sorted(members):
            if path == documents + "LICENSE":
                files[f"{info}/LICENSE"] = (packed.extractfile(members[path]).read(), 0o644)
            elif path.startswith(peers):
                files[f"{name}-{version}.data/data/{path}"] = (packed.extractfile(members[path]).read(), members[path].mode & 0o777)
            elif path.startswith(documents + "licenses/"):
                files[f"{info}/{path.removeprefix(documents)}"] = (packed.extractfile(members[path]).read(), 0o644)
    files[f"{info}/METADATA"] = (metadata(name, version).encode(), 0o644)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: make_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    path = pathlib.Path(folder, f"{name}-{version}-{tag}.whl")
    write_wheel(path, files, f"{info}/RECORD")
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n", 1)[0])
    main(*sys.argv[1:])
