"""Progress in a notebook: a bar that is drawn anew in its place."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from unispectral import UnifiedSpectralClustering
from unispectral._compat import manual_address
from unispectral._run import is_notebook


class ZMQInteractiveShell:
    """What a kernel's shell is called."""


class Colab(ZMQInteractiveShell):
    """A shell that is made of it."""


class Handle:
    """Where something was displayed."""

    def __init__(self, shown: list[str]) -> None:
        self.shown = shown

    def update(self, markup: str) -> None:
        self.shown.append(markup)


@pytest.fixture
def notebook(monkeypatch):
    """A notebook that keeps what is displayed in it, a list for each place."""
    places: list[list[str]] = []

    def display(markup, display_id):
        assert display_id
        places.append([markup])
        return Handle(places[-1])

    ipython = ModuleType("IPython")
    ipython.get_ipython = Colab
    ipython.display = ModuleType("IPython.display")
    ipython.display.HTML = str
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    return places


def test_a_fit_shows_one_bar_and_prints_nothing(notebook, capsys):
    UnifiedSpectralClustering(2, verbose=1).fit(np.arange(24.0)[:, None])
    assert len(notebook) == 1
    assert "<progress" in notebook[0][0]
    assert any('max="2"' in markup for markup in notebook[0])
    assert "done in" in notebook[0][-1]
    assert "<progress" not in notebook[0][-1]
    assert capsys.readouterr().err == ""


def test_nothing_is_displayed_unless_asked_for(notebook):
    UnifiedSpectralClustering(2).fit(np.arange(24.0)[:, None])
    assert notebook == []


def test_a_terminal_is_no_notebook(notebook, monkeypatch):
    assert is_notebook()
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    assert not is_notebook()
    monkeypatch.delitem(sys.modules, "IPython")
    assert not is_notebook()


def test_the_representation_links_to_its_page_where_there_is_a_manual(monkeypatch):
    model = UnifiedSpectralClustering(2).fit(np.arange(24.0)[:, None])
    told = model._repr_mimebundle_()["text/html"]
    assert "2 clusters of 24 samples." in told
    monkeypatch.setattr("unispectral._compat.manual_address", lambda: "")
    assert "generated/" not in model._repr_mimebundle_()["text/html"]
    monkeypatch.setattr("unispectral._compat.manual_address", lambda: "https://manual.example/")
    page = "https://manual.example/generated/unispectral.UnifiedSpectralClustering.html"
    assert page in model._repr_mimebundle_()["text/html"]


def test_the_address_of_the_manual_is_that_of_the_package(monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return ["Paper, https://a.example", "Documentation, https://manual.example/"]

    manual_address.cache_clear()
    monkeypatch.setattr("unispectral._compat.metadata", lambda name: Metadata())
    assert manual_address() == "https://manual.example/"
    manual_address.cache_clear()
