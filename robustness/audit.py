"""An audit of the dependencies: ``python -m robustness.audit``.

Without a network it checks that every installed file is the one that its package recorded, that
the packages fit together, and that neither what is installed nor what ``pyproject.toml`` would
accept has a weakness of the short list below. With one, ``pip-audit`` looks every package up in
the public list of known weaknesses.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

__all__ = ["changed_files", "main", "weak_bounds", "weak_packages"]

_ROOT = Path(__file__).resolve().parent.parent

#: Published weaknesses of packages that see bytes from outside, and the first version without.
KNOWN: dict[str, tuple[tuple[str, str], ...]] = {
    "certifi": (("2024.7.4", "CVE-2024-39689, a root that is no longer trusted"),),
    "distributed": (("2021.10.0", "CVE-2021-42343, workers that listen to everybody"),),
    "idna": (("3.7", "CVE-2024-3651, names that take for ever"),),
    "jinja2": (("3.1.6", "CVE-2025-27516, a way out of the sandbox"),),
    "joblib": (("1.2.0", "CVE-2022-21797, code in pre_dispatch"),),
    "numpy": (("1.22.0", "CVE-2021-41496, a buffer overflow"),),
    "openpyxl": (("2.4.2", "CVE-2017-5992, external entities"),),
    "pillow": (("10.3.0", "CVE-2024-28219, a buffer overflow"),),
    "pyarrow": (("14.0.1", "CVE-2023-47248, code run by a Parquet file"),),
    "requests": (("2.32.4", "CVE-2024-47081 and CVE-2024-35195, leaked passwords, no checks"),),
    "scikit-learn": (("1.5.0", "CVE-2024-5206, words of the data kept in the model"),),
    "tornado": (("6.5.0", "CVE-2025-47287, a flood of log lines"),),
    "urllib3": (("2.5.0", "CVE-2025-50181, redirects that were forbidden"),),
}


def weak_bounds(pyproject: Path = _ROOT / "pyproject.toml") -> list[str]:
    """Requirements that would accept a version with a known weakness."""
    project = tomllib.loads(pyproject.read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        wanted += extra
    found = []
    for requirement in map(Requirement, wanted):
        for safe, why in KNOWN.get(requirement.name.lower(), ()):
            bounds = [Version(s.version) for s in requirement.specifier if s.operator == ">="]
            if max(bounds, default=Version("0")) < Version(safe):
                found.append(f"{requirement} accepts versions before {safe}: {why}")
    return found


def weak_packages() -> list[str]:
    """Installed packages with a known weakness."""
    found = []
    for name, weaknesses in KNOWN.items():
        try:
            here = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found += [f"{name} {here}: {w}" for safe, w in weaknesses if Version(here) < Version(safe)]
    return found


def changed_files() -> Iterator[str]:
    """Installed files whose content is not what their package recorded."""
    for package in importlib.metadata.distributions():
        for file in package.files or ():
            path = Path(str(file.locate()))
            if file.hash is None or not path.is_file():
                continue
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest()
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                yield f"{package.name}: {file}"


def _by_list() -> tuple[bool | None, str]:
    """The verdict of pip-audit: good, bad, or None where it could not be asked."""
    try:
        importlib.metadata.version("pip-audit")
    except importlib.metadata.PackageNotFoundError:
        return None, "pip-audit is not installed"
    command = [sys.executable, "-m", "pip_audit", "--local", "--strict", "--progress-spinner=off"]
    done = subprocess.run(
        [*command, "--skip-editable"], capture_output=True, text=True, check=False
    )
    said = (done.stdout + done.stderr).strip()
    if done.returncode and "known vulnerabilit" not in said:
        # A mirror without the list answers for no package; that is no verdict.
        return None, f"the public list could not be asked ({said.splitlines()[-1][:200]})"
    return done.returncode == 0, said


def main() -> int:
    """Print every check and its findings; the exit code says whether one is bad."""
    fits = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    checks = {
        "the lowest versions that pyproject.toml accepts": weak_bounds(),
        "the installed versions, by the short list": weak_packages(),
        "installed files, by what their packages recorded": list(changed_files()),
        "packages that fit together": [] if fits.returncode == 0 else fits.stdout.splitlines(),
    }
    for what, findings in checks.items():
        print(f"{'good' if not findings else 'BAD'}: {what}")
        for finding in findings:
            print(f"    {finding}")
    verdict, said = _by_list()
    words = {None: f"not asked: {said}", True: "good", False: f"BAD\n{said}"}[verdict]
    print(f"the public list of known weaknesses: {words}")
    return int(any(checks.values()) or verdict is False)


if __name__ == "__main__":
    sys.exit(main())
