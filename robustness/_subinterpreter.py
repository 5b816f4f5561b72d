"""A sub-interpreter: importing there is refused with a sentence, and the main one fits on.

``python -m robustness._subinterpreter NAME SEED`` prints the message, and the labels of the main
interpreter before and afterwards, as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

_CODE = """
import sys
sys.path[:] = {path!r}
try:
    import unispectral
except ImportError as error:
    said = str(error)
else:
    said = "imported"
with open({out!r}, "w") as file:
    file.write(said)
"""


def main(name: str, seed: int) -> None:
    """Fit here, import there, fit here."""
    from robustness.concurrency import fit

    warnings.simplefilter("ignore")
    found = [fit(name, seed).tolist()]
    new = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    interpreters = importlib.import_module(new)
    out = Path(tempfile.mkdtemp()) / "said"
    failure = None
    try:
        code = _CODE.format(path=["", *sys.path], out=str(out))
        failure = interpreters.run_string(interpreters.create(), code)
    except Exception as error:
        failure = error
    said = out.read_text() if out.exists() else f"raises {failure}"
    found.append(fit(name, seed).tolist())
    print(json.dumps({"said": said, "labels": found}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
