"""Fetches the one version of speedscope whose importers are run, and unpacks it.

usage: speedscope.py FOLDER

Its package is pages and scripts that a browser runs as they are, so nobody needs npm for it. NPM_CONFIG_REGISTRY names another registry. FOLDER is there
only once everything in it is.
"""

import hashlib
import io
import os
import shutil
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "1.25.0"
SHA256 = "2831f1e0d26df914b477e522d78b8485511495a6af81a0b88158f8b48f9e0d03"
SECONDS = 60


def main(folder):
    registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
    address = f"{registry}/speedscope/-/speedscope-{VERSION}.tgz"
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            packed = answer.read()
    except OSError as error:
        sys.exit(f"{address} cannot be had: {error}")
    found = hashlib.sha256(packed).hexdigest()
    if found != SHA256:
        sys.exit(f"{address} is another file than the one that was tried: SHA-256 {found}, not {SHA256}")
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(part, filter="data")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
