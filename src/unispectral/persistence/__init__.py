"""Saved models: files that can be opened without trusting them.

A saved model is one zip archive, which ``np.load`` opens too. ``model.json`` says what it is;
every other member is an array in NumPy's own format, numbers only. Nothing in it is executed.

``model.json`` holds

``format``, ``version``
    ``"unispectral-model"`` and the number of this format, 1.
``library``
    The version of unispectral that wrote it, for people to read.
``class``
    The estimator, one of a fixed list.
``params``, ``fitted``
    Its parameters and fitted attributes by name. What JSON has no word for is an object with one
    key that tells: ``{"$array": member}``, ``{"$csr": members, "shape": …}``,
    ``{"$tuple": […]}``, ``{"$map": [[key, value], …]}``, ``{"$strings": […]}``,
    ``{"$float": "nan"}``, ``{"$scalar": …, "dtype": …}``, ``{"$count": …}``,
    ``{"$kernel": class, "fields": {…}}``. A parameter that the file lacks has its default.
``predictor``
    What the estimator keeps of its samples, as plain values: layout of the input, tables and
    kernels, and the geometries in which new samples are described. Absent for comparison methods.
``output``
    What ``set_output`` asked for, or null.
``pipeline``
    Only of a pipeline: the name of the ``last`` step, which is the estimator, ``verbose``, and the
    ``steps`` before it with ``name``, ``class`` (of a fixed list), ``params``, ``fitted`` and
    ``output``.
``arrays``
    Type and shape of every array member.
"""

from unispectral.persistence._archive import ModelFileError
from unispectral.persistence._models import load_model, save_model

__all__ = ["ModelFileError", "load_model", "save_model"]
