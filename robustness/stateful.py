"""Commands, fits, interrupts, kills and changed files in any order: the state stays true.

The state machines of the tests, over more and other sequences. A case is one sequence.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

from robustness._results import Part, Plan, Result
from robustness._tests import test_module

__all__ = ["PARTS"]

#: Where the state machines are, and how many sequences of each a full run takes.
_MACHINES = {
    "run, interrupt, retry, report": ("bench/test_stateful", "Bench", 40),
    "fit, interrupt, another fit": ("integration/test_fit_stateful", "Fits", 60),
    "save, kill, change, load": ("integration/test_fit_stateful", "Files", 60),
}


def _machine(name: str) -> Part:
    module, kind, many = _MACHINES[name]

    def part(plan: Plan) -> Result:
        from hypothesis import seed, settings
        from hypothesis.stateful import run_state_machine_as_test

        base: Any = getattr(test_module(module), kind)
        result = Result(f"stateful: {name}", plan.seed)

        class Counted(base):  # type: ignore[misc]
            def teardown(self) -> None:
                super().teardown()
                result.add("passed")

        how = settings(
            base.TestCase.settings,
            max_examples=plan.pick(2, many),
            derandomize=False,
            database=None,
            print_blob=False,
        )
        said = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stdout(said):
            warnings.simplefilter("ignore")
            try:
                run_state_machine_as_test(seed(plan.seed)(Counted), settings=how)
            except Exception as error:
                result.add("failed", name, f"{error!r} {said.getvalue()[-1500:]}")
        return result

    return part


PARTS: dict[str, Part] = {name: _machine(name) for name in _MACHINES}
