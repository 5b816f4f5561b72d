"""Constructor, constraints and docstring are made from what a method declares."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from unispectral import baselines
from unispectral._parameters import Declared, count, parameter, positive
from unispectral.baselines._base import alternate

METHODS = [getattr(baselines, name) for name in baselines.__all__]
X = np.vstack([np.eye(3) * 9.0 + shift for shift in (0.0, 0.1, 0.3, 0.4)])


def described(method: type, section: str) -> dict[str, str]:
    """Names and types in a section of the docstring, which must be there."""
    found = re.search(rf"^{section}\n-+\n(.*?)(\n\n|\Z)", method.__doc__, re.M | re.S)
    assert found, section
    return dict(re.findall(r"^(\w+) : (.*)$", found[1], re.M))


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_is_described_with_its_default_and_checked(method):
    parameters = inspect.signature(method).parameters
    shown = described(method, "Parameters")
    assert list(shown) == list(parameters)
    for name, one in parameters.items():
        assert shown[name].endswith(f", default={one.default!r}")
        positional = one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert positional == (name == "n_clusters")
    assert list(method._parameter_constraints) == list(parameters) == list(vars(method()))


@pytest.mark.parametrize("method", METHODS)
def test_every_fitted_attribute_is_described(method):
    model = method(3)
    if "kernels" in model.get_params():
        model.set_params(kernels=["gaussian", "linear"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X)
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    public -= {"n_features_in_"}
    assert public == set(described(method, "Attributes"))


def test_a_subclass_has_the_last_word():
    class Base(Declared):
        """Base.

        Parameters
        ----------
        n : int
            How many.
        width : float
            How wide.

        Attributes
        ----------
        found_ : int
        """

        n: int = count(default=2, kw_only=False)

    class Method(Base):
        """Method.

        More of it.

        Parameters
        ----------
        n : int or None
            How many; None is all.

        Notes
        -----
        Short.
        """

        n: int | None = count(None, default=3, kw_only=False)
        width: float | None = positive(default=None)
        kind: object = parameter(default="any")

    assert Method.__doc__ == inspect.cleandoc(
        """Method.

        More of it.

        Parameters
        ----------
        n : int or None, default=3
            How many; None is all.
        width : float, default=None
            How wide.

        Attributes
        ----------
        found_ : int

        Notes
        -----
        Short.
        """
    )
    assert Method(4, width=1.0).__dict__ == {"n": 4, "width": 1.0, "kind": "any"}
    assert Method._parameter_constraints["kind"] == "no_validation"
    assert Method._parameter_constraints["width"][-1] is None
    with pytest.raises(TypeError, match="positional"):
        Method(4, 1.0)


def test_rounds_end_at_rest_or_at_the_limit():
    changes = [3.0, 0.0, 2.0, 0.5, 0.5]
    rounds = list(enumerate(changes))
    assert alternate(rounds, 10, 0.5)[0] == 1
    state, stop = alternate(iter(rounds), 10, 0.5, least=3)
    assert (state, stop) == (3, (4, True, 0.5))
    assert alternate(rounds, 3, 0.1, least=3) == (2, (3, False, 2.0))
