"""Builds the wheel and the source archive with the standard library alone (PEP 517).

The package is plain Python without dependencies, and fleets are often without a way to the
internet: `pip install clients/python` must work there, and pip fetches a build system for every
other kind of project.
"""

import base64
import csv
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

NAME = "shoal_client"
ROOT = Path(__file__).resolve().parent.parent


def _project():
    """Version, description and the oldest Python, as pyproject.toml has them."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {
        field: re.search(rf'^{field} = "(.*)"$', text, re.MULTILINE).group(1)
        for field in ("version", "description", "requires-python", "license")
    }


def _metadata(project):
    lines = [
        "Metadata-Version: 2.1",
        "Name: shoal-client",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        "",
        (ROOT / "README.md").read_text(encoding="utf-8"),
    ]
    return "\n".join(lines)


def _sources():
    return sorted(
        path for path in (ROOT / NAME).iterdir() if path.suffix == ".py" or path.name == "py.typed"
    )


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = _project()
    info = f"{NAME}-{project['version']}.dist-info"
    tag = "py3-none-any"
    wheel = f"Wheel-Version: 1.0\nGenerator: shoal\nRoot-Is-Purelib: true\nTag: {tag}\n"
    files = {f"{NAME}/{path.name}": path.read_bytes() for path in _sources()}
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = wheel.encode()
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([name, f"sha256={digest}", len(data)])
    rows.writerow([f"{info}/RECORD", "", ""])
    files[f"{info}/RECORD"] = record.getvalue().encode()
    file_name = f"{NAME}-{project['version']}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / file_name, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file_name


def build_sdist(sdist_directory, config_settings=None):
    project = _project()
    folder = f"{NAME}-{project['version']}"
    file_name = f"{folder}.tar.gz"
    with tarfile.open(Path(sdist_directory) / file_name, "w:gz") as archive:
        for path in [*_sources(), ROOT / "pyproject.toml", ROOT / "README.md", Path(__file__)]:
            archive.add(path, f"{folder}/{path.resolve().relative_to(ROOT)}")
        data = _metadata(project).encode()
        entry = tarfile.TarInfo(f"{folder}/PKG-INFO")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return file_name
