"""The same labels on other processors, as far as one machine can stand in for them.

NumPy is told not to use the wider instructions that this processor has, OpenBLAS to use the
kernels of another. Sums are then taken in another order, and differ in their last digits.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif(
        platform.machine().lower() not in ("x86_64", "amd64"),
        reason="the instructions and OpenBLAS kernels named here are those of x86",
    ),
    pytest.mark.xdist_group("platforms"),
]

#: Fits on well-separated problems, and what the libraries say they use.
PROGRAM = """
import json
import numpy as np
from sklearn.datasets import load_wine, make_blobs, make_moons
from threadpoolctl import threadpool_info
from unispectral import SCMK, SCSK, UnifiedSpectralClustering

blobs = make_blobs(90, 4, centers=3, cluster_std=0.5, center_box=(-20, 20), random_state=1)[0]
moons = make_moons(240, noise=0.04, random_state=0)[0]
found = {
    "label-free, blobs": UnifiedSpectralClustering(3, random_state=0).fit_predict(blobs),
    "label-free, moons": UnifiedSpectralClustering(2, random_state=0).fit_predict(moons),
    "label-free, wine": UnifiedSpectralClustering(3, random_state=0).fit_predict(load_wine().data),
    "SCSK, blobs": SCSK(3, random_state=0).fit_predict(blobs),
    "SCMK, blobs": SCMK(3, random_state=0).fit_predict(blobs),
}
simd = np.show_config(mode="dicts")["SIMD Extensions"]
x = np.random.default_rng(0).standard_normal((300, 300))
print(json.dumps({
    "labels": {name: labels.tolist() for name, labels in found.items()},
    "instructions": simd.get("found", []),
    "kernels": sorted({p.get("architecture", "") for p in threadpool_info()} - {""}),
    "rounding": (x @ x.T).tobytes().hex()[:4000],
}))
"""


def dispatched() -> list[str]:
    """The instructions that NumPy chooses at run time on this machine."""
    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def fitted(**variables: str) -> dict:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | variables
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def here() -> dict:
    return fitted()


def wide(name: str) -> bool:
    """Whether an instruction set of NumPy's is wider than AVX2."""
    return "512" in name or name == "X86_V4"


@pytest.mark.parametrize("kernels", ["Nehalem", "Haswell", "SkylakeX"])
def test_labels_on_another_processor(kernels: str, here: dict) -> None:
    """As with SSE4 alone, with AVX2, and with AVX-512."""
    if not here["kernels"]:
        pytest.skip("NumPy and SciPy use no OpenBLAS here")
    if kernels == "SkylakeX" and not any(map(wide, dispatched())):
        pytest.skip("this processor has no AVX-512")
    if kernels == "Haswell" and not dispatched():
        pytest.skip("this processor has no AVX2")
    lacking = {
        "Nehalem": dispatched(),
        "Haswell": [name for name in dispatched() if wide(name)],
        "SkylakeX": [],
    }[kernels]
    there = fitted(OPENBLAS_CORETYPE=kernels, NPY_DISABLE_CPU_FEATURES=" ".join(lacking))
    assert there["instructions"] == [name for name in dispatched() if name not in lacking]
    if kernels == "Nehalem" and here["kernels"] != [kernels]:
        # Otherwise this would compare a thing with itself.
        assert there["kernels"] == [kernels]
        assert there["rounding"] != here["rounding"]
    assert there["labels"] == here["labels"]
