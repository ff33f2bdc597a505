#!/usr/bin/env python3
"""make_sbom.py BUILD DIR: an SBOM (SPDX 2.3, JSON) of the packages in DIR, from what the build in BUILD really used.

That are the headers of every compiled file (ninja's dependencies) and the archives from which the linker took something (its map),
each by the Debian package that owns it; what came with a package of the Python index or a CUDA toolkit, by that; and D3, which is in
the binary as text. Prints the path of the SBOM. Equal builds give equal SBOMs: its time is SOURCE_DATE_EPOCH.
"""

import csv
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
from urllib.parse import quote

CHARTS = "/usr/share/javascript/d3/d3.min.js"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def used_files(build):
    """Headers that were compiled in and archives that were linked, outside of the repository; with links resolved."""
    headers = {line.strip() for line in output_of("ninja", "-C", build, "-t", "deps").splitlines() if line.startswith("    /")}
    archives = set()
    for link_map in (build / "epochbench.map", build / "epochbench-mpi.map"):
        named = set(re.findall(r"^(/\S+\.a)\(", link_map.read_text(), re.MULTILINE))
        if not named:
            sys.exit(f"make_sbom: {link_map} names no archive; build with EPOCHBENCH_PACKAGE=ON")
        archives |= named
    root = pathlib.Path(__file__).resolve().parents[2]
    files = {os.path.realpath(file) for file in headers | archives | {CHARTS}}
    return sorted(file for file in files if not file.startswith(f"{root}/") or "/packages/" in file)


def owners(files):
    """Debian packages by name, and the files that none of them owns. dpkg's lists at once: asking it file by file takes minutes."""
    owner = {}
    for listed in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        for path in listed.read_text().splitlines():
            owner[path] = listed.stem.split(":")[0]
    # A file of a merged /usr may be registered without it.
    of = {file: owner.get(file) or owner.get(file.removeprefix("/usr")) for file in files}
    return sorted({name for name in of.values() if name}), [file for file in files if not of[file]]


def debian_package(name):
    version, processor, source, page = output_of(
        "dpkg-query", "--show", "--showformat", "${Version}\t${Architecture}\t${source:Package}\t${Homepage}", name).split("\t")
    return {"name": name, "versionInfo": version, "supplier": "Organization: Debian", "sourceInfo": f"source package {source}",
            "downloadLocation": "NOASSERTION", **({"homepage": page} if page else {}),
            "purl": f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='')}?arch={processor}"}


@functools.lru_cache(maxsize=None)
def files_of_wheels(folder):
    """Of what was unpacked there, by the lists that wheels bring: name and version by file."""
    owner = {}
    for record in folder.glob("*.dist-info/RECORD"):
        name, version = record.parent.name.removesuffix(".dist-info").split("-")
        with record.open(newline="") as lines:
            for path, *_ in csv.reader(lines):
                owner[os.path.realpath(folder / path)] = (name.replace("_", "-"), version)
    return owner


def other_packages(files):
    """Packages of the Python index, which the build fetched, and the CUDA toolkit."""
    found, unknown = {}, []
    for file in files:
        toolkit = re.match(r"/usr/local/cuda-([\d.]+)/", file)
        wheel = next(filter(None, (files_of_wheels(folder).get(file) for folder in pathlib.Path(file).parents)), None)
        if not toolkit and not wheel:
            unknown.append(file)
            continue
        name, version = wheel or ("cuda-toolkit", toolkit[1])
        found[name] = {"name": name, "versionInfo": version, "supplier": "Organization: NVIDIA", "downloadLocation": "NOASSERTION",
                       "purl": f"pkg:{'pypi' if wheel else 'generic'}/{name}@{version}"}
    if unknown:
        sys.exit(f"make_sbom: no package owns {unknown[0]}" + (f" and {len(unknown) - 1} more" if unknown[1:] else ""))
    return [found[name] for name in sorted(found)]


def spdx_package(fields):
    purl = fields.pop("purl")
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^\w.-]", "-", fields["name"]), "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **fields,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]}


def main(build, folder):
    build, folder = pathlib.Path(build), pathlib.Path(folder)
    tarball, = folder.glob("*-linux-*.tar.gz")
    version = re.search(r"-([\d.]+)-linux-", tarball.name)[1]
    names, others = owners(used_files(build))
    parts = [spdx_package(fields) for fields in [*map(debian_package, names), *other_packages(others)]]
    artifacts = []
    for file in sorted(path for path in folder.iterdir() if path.suffix in (".deb", ".gz", ".whl")):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        artifacts.append({"SPDXID": f"SPDXRef-{file.name}".replace("_", "-"), "name": file.name, "versionInfo": version,
                          "filesAnalyzed": False, "downloadLocation": "NOASSERTION", "licenseConcluded": "Apache-2.0",
                          "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
                          "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]})
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": each["SPDXID"]}
                 for each in artifacts]
    relations += [{"spdxElementId": artifact["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
                  for artifact in artifacts for part in parts]
    identity = hashlib.sha256("".join(each["checksums"][0]["checksumValue"] for each in artifacts).encode()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"epochbench-{version}",
                "documentNamespace": f"https://epochbench.invalid/spdx/{identity}",
                "creationInfo": {"created": created, "creators": ["Tool: scripts/lib/make_sbom.py"]},
                "packages": artifacts + parts, "relationships": relations}
    path = folder / f"epochbench-{version}.spdx.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n", 1)[0])
    main(*sys.argv[1:])
