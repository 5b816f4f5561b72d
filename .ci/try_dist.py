"""Install what ``make dist`` built into empty environments, and try it there.

The wheel is installed alone, the source distribution with the extra ``cli``. The arguments are
the Pythons to try: names on the path, or addresses of their programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMOKE = ROOT / ".ci" / "smoke.py"


def built(ending: str) -> Path:
    """The one file of ``dist/`` with this ending."""
    found = list((ROOT / "dist").glob(f"*{ending}"))
    if len(found) != 1:
        sys.exit(f"dist/ must hold one file *{ending}, not {len(found)}; run make dist.")
    return found[0]


def tried(python: str, package: str, *extras: str) -> None:
    """Install into a new environment and run the smoke test outside the repository."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", place], check=True)
        inside = Path(place) / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [inside, "-m", "pip", "install", "--quiet", "--no-compile"]
        subprocess.run([*install, package], check=True)
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([inside, SMOKE, *extras], cwd=place, env=clean, check=True)


if __name__ == "__main__":
    for python in sys.argv[1:] or [sys.executable]:
        tried(python, str(built(".whl")))
        tried(python, f"{built('.tar.gz')}[cli]", "cli")
