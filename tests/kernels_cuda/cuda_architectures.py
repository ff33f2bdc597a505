#!/usr/bin/env python3
"""Checks that a program holds device code of given architectures: cuda_architectures.py PROGRAM ARCHITECTURE...

ARCHITECTURE as in CMAKE_CUDA_ARCHITECTURES: 90-real (machine code), 90-virtual (PTX), 90 (both). Reads the section
.nv_fatbin as nvcc writes it: containers, each a header and entries, whose own headers name kind and architecture
uncompressed even where the code is compressed.
"""

import struct
import sys

CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes that follow
ENTRY = struct.Struct("<HHIQIIHHI")  # kind, -, bytes of this header, bytes that follow, -, -, -, -, architecture
MAGIC = 0xBA55ED50
KINDS = {1: "virtual", 2: "real"}


def section(program, wanted):
    """The bytes of a section of a 64-bit little-endian ELF file."""
    if program[:6] != b"\x7fELF\x02\x01":
        sys.exit("not a 64-bit ELF program")
    (offset,) = struct.unpack_from("<Q", program, 0x28)
    size, count, names = struct.unpack_from("<HHH", program, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", program, offset + i * size) for i in range(count)]
    text = headers[names][4]
    for name, _, _, _, begin, length in headers:
        at = text + name
        if program[at:program.index(b"\0", at)] == wanted:
            return program[begin:begin + length]
    sys.exit(f"no section {wanted.decode()}: the program holds no device code")


def architectures(fatbin):
    """A set of names like "90-real" for each container that has code, in order."""
    found, at = [], 0
    while (at := fatbin.find(struct.pack("<I", MAGIC), at)) >= 0:
        _, _, header, length = CONTAINER.unpack_from(fatbin, at)
        entry, end = at + header, at + header + length
        of_container = set()
        while entry < end:
            kind, _, entry_header, entry_length, *_, architecture = ENTRY.unpack_from(fatbin, entry)
            if kind in KINDS:
                of_container.add(f"{architecture}-{KINDS[kind]}")
            entry += entry_header + entry_length
        if of_container:
            found.append(of_container)
        at = end
    return found


def main():
    program, *wanted = sys.argv[1:]
    expected = set()
    for architecture in wanted:
        expected |= {architecture} if "-" in architecture else {f"{architecture}-real", f"{architecture}-virtual"}
    found = architectures(section(open(program, "rb").read(), b".nv_fatbin"))
    print(f"{len(found)} containers of device code")
    if not expected or not found:
        sys.exit("the program holds no container of device code")
    for container in found:
        if not expected <= container:
            sys.exit(f"a container lacks {sorted(expected - container)}: it has {sorted(container)}")


if __name__ == "__main__":
    main()
