"""Saved models: files that can be opened without trusting them.

A saved model is one zip archive, which ``np.load`` opens too. ``model.json`` says what it is;
every other member is an array in NumPy's own format, numbers only. Nothing in it is executed.
The page on saved models in the manual describes the format entry by entry.
"""

from unispectral.persistence._archive import ModelFileError
from unispectral.persistence._models import load_model, save_model

__all__ = ["ModelFileError", "load_model", "save_model"]
