"""
Weights that tell good kernels from bad ones
============================================

Chemical analyses of wines from three growers. Beside two sensible kernels we give SCMK kernels
that know nothing: they are computed from random numbers. Noise has no clusters, so its graph has
little modularity, and with it no weight.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import scale

from unispectral import SCMK
from unispectral.metrics import clustering_accuracy
from unispectral.plotting import KernelWeightsDisplay

X, y = load_wine(return_X_y=True)
X = scale(X)
rng = np.random.default_rng(0)

good = {"gaussian": rbf_kernel(X), "laplacian": laplacian_kernel(X)}
for count in (0, 3, 10):
    noise = {f"noise {i}": rbf_kernel(rng.normal(size=X.shape)) for i in range(count)}
    kernels = {**good, **noise}
    model = SCMK(3, kernels="precomputed").fit(list(kernels.values()))
    accuracy = clustering_accuracy(y, model.labels_)
    share = model.kernel_weights_[:2].sum() / model.kernel_weights_.sum()
    print(f"{count:2d} kernels of noise: accuracy {accuracy:.3f}, good kernels hold {share:.3f}")

# %%

KernelWeightsDisplay(list(kernels), model.kernel_weights_).plot()

# %%
# The paper's own weights come from what the graph leaves unexplained of each kernel. With its
# twelve kernels they go to the nearly constant ones, whatever the data:

paper = SCMK.paper(3, alpha=0.1, beta=0.1, gamma=0.1).fit(X)
KernelWeightsDisplay.from_estimator(paper)
plt.show()
