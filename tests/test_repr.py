"""What a notebook shows: scikit-learn's diagram, and below it a summary that nothing can break."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unispectral import SCMK
from unispectral._repr import FittedSummaryMixin, solution_html, summary_html
from unispectral.paper import Solution

X = np.concatenate([np.arange(6.0), 40 + np.arange(9.0)])[:, None]
XSS = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Shown(FittedSummaryMixin, KMeans):
    """A stranger with the mixin."""


class Tags(HTMLParser):
    """Counts tags, and knows which remain open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_diagram_and_summary():
    model = Shown(2, n_init=1, random_state=0)
    diagram = model._repr_html_()
    assert "sk-" in diagram
    assert "clusters" not in summary_html(model)
    fitted = model.fit(X)._repr_html_()
    assert "sk-" in fitted
    assert "<b>2 clusters</b> of 6 to 9 samples, 15 in all" in fitted
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert bundle["text/html"].count("<b>2 clusters</b>") == 1


def test_text_display_stays_text():
    model = Shown(2, n_init=1).fit(X)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()


def test_pipelines_still_draw_their_diagram():
    pipeline = make_pipeline(StandardScaler(), Shown(2, n_init=1)).fit(X)
    assert "Shown" in pipeline._repr_html_()


def test_summary_of_the_model():
    model = SCMK(2, kernels=["linear", "gaussian_1", "polynomial_2"], solver="exact").fit(X)
    text = summary_html(model)
    tags = Tags(text)
    assert not tags.open
    assert tags.seen.count("rect") == 2
    assert all(name in text for name in model.kernel_names_)
    assert model.stop_reason_.split("<")[0][:20] in text
    assert f"{model.n_iter_} iterations" in text
    heaviest = model.kernel_names_[int(np.argmax(model.kernel_weights_))]
    assert text.index(heaviest) == min(text.index(name) for name in model.kernel_names_)


def test_bars_are_as_high_as_clusters_are_large():
    text = summary_html(SimpleNamespace(labels_=[0] * 30 + [1] * 15))
    assert 'height="30" fill="#0072b2"' in text
    assert 'height="15" fill="#e69f00"' in text


@pytest.mark.parametrize("count", [120, 500])
def test_many_clusters_and_kernels_stay_short(count):
    model = SimpleNamespace(
        labels_=np.arange(count),
        kernel_weights_=np.arange(40.0),
        kernel_names_=[f"k{r}" for r in range(40)],
    )
    text = summary_html(model)
    assert Tags(text).seen.count("rect") == (count if count <= 120 else 0)
    heaviest = ", ".join(f"k{r} {r}" for r in range(39, 27, -1))
    assert f"kernel weights: {heaviest} and 28 lighter kernels" in text


def test_everything_is_escaped():
    model = SimpleNamespace(
        labels_=np.array([XSS, "b"]),
        kernel_weights_=[0.5, 0.5],
        kernel_names_=[XSS, "b"],
        stop_reason_=XSS,
        converged_=False,
        n_iter_=3,
    )
    tags = Tags(summary_html(model))
    assert not {"script", "img"} & set(tags.seen)
    assert "<b>not converged</b>" in summary_html(model)


def test_solution():
    found = Solution(
        Z=sp.csr_array(np.ones((3, 3))),
        P=np.eye(3)[:, :2],
        Q=np.eye(2),
        labels=np.array([0, 0, 1]),
        weights=np.array([0.25, 0.75]),
        objective=[3.0, 1.25],
        n_iter=2,
        converged=False,
        reason=XSS,
        kkt=1e-3,
        eigenvalues=np.zeros(2),
    )
    text = solution_html(found)
    tags = Tags(text)
    assert not tags.open
    assert not {"script", "img"} & set(tags.seen)
    for words in ("objective 1.25", "9 edges", "residual 0.001", "2 iterations", "2 clusters"):
        assert words in text
