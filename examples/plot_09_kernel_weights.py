"""
Kernels that know nothing
=========================

Chemical analyses of wines from three growers. Beside two sensible kernels there are kernels that
know nothing: they are computed from random numbers. Two kernels of the same samples share many
neighbours; noise shares no more with anything than chance lets it, and gets no weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import scale

from unispectral import SCMK, UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import KernelWeightsDisplay

X, y = load_wine(return_X_y=True)
X = scale(X)
rng = np.random.default_rng(0)

good = {"gaussian": rbf_kernel(X), "laplacian": laplacian_kernel(X)}
for count in (0, 3, 10):
    noise = {f"noise {i}": rbf_kernel(rng.normal(size=X.shape)) for i in range(count)}
    kernels = {**good, **noise}
    model = UnifiedSpectralClustering(3, kernels="precomputed").fit(list(kernels.values()))
    accuracy = clustering_accuracy(y, model.labels_)
    share = model.kernel_weights_[:2].sum() / model.kernel_weights_.sum()
    print(f"{count:2d} kernels of noise: accuracy {accuracy:.3f}, good kernels hold {share:.3f}")

# %%

KernelWeightsDisplay(list(kernels), model.kernel_weights_).plot()

# %%
# The paper's model weights kernels by how little of each its graph leaves unexplained. Of its
# twelve kernels the widest Gaussian is nearly constant and therefore explained best, and nearly
# all of the weight goes to it:

paper = SCMK(3).fit(X)
KernelWeightsDisplay.from_estimator(paper)
plt.show()
