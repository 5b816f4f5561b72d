"""
A survey
========

Answers in words, from *never* to *always*, some of them missing, and columns that are no answers.
:class:`~unispectral.tables.TablePreparer` makes numbers of those columns that can tell people
apart, and says what it did with the others. The answers are made up here, of three attitudes.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from unispectral import UnifiedSpectralClustering, describe
from unispectral.plotting import GraphMatrixDisplay
from unispectral.report import summarise
from unispectral.tables import TablePreparer

rng = np.random.default_rng(3)
words = np.array(["never", "rarely", "sometimes", "often", "always"])
questions = [
    "cycles_to_work", "eats_meat", "flies_on_holiday", "buys_second_hand",
    "repairs_things", "orders_online", "volunteers", "reads_the_news",
]  # fmt: skip
usual = np.array(
    [[4, 1, 0, 3, 3, 1, 3, 4], [0, 3, 3, 0, 1, 4, 0, 2], [1, 3, 1, 2, 4, 0, 3, 1]],
)
attitude = rng.integers(3, size=240)
answers = np.clip(usual[attitude] + rng.integers(-1, 2, size=(240, 8)), 0, 4)
survey = pd.DataFrame(words[answers], columns=questions)
survey = survey.mask(rng.random(survey.shape) < 0.02)  # questions that were left out
survey.insert(0, "respondent", range(1, 241))
survey["region"] = rng.choice(["north", "south"], 240)
survey.iloc[:4, :6]

# %%
# What was made of the columns: answers in words are numbers in their order, gaps are filled, and
# the number of the respondent is left out.

pipeline = make_pipeline(TablePreparer(), UnifiedSpectralClustering())
labels = pipeline.fit_predict(survey)
for column in pipeline[0].columns_:
    print(f"{column['name']:18s} {column['kind']:12s} {column.get('why', '')}")

# %%
# The answer in words. Columns are described in the units of the table:

print(summarise(pipeline, survey))

# %%
# The questions in which each group differs most from the others, as a table:

describe(pipeline, survey, n_features=3).round(2)

# %%
# Shares of the answers to one question, and the learned graph in the order of the groups:

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
shares = pd.crosstab(labels, survey["flies_on_holiday"], normalize="index")[list(words)]
shares.plot.barh(stacked=True, ax=left, colormap="cividis", width=0.8)
left.set(xlabel="share of the group", ylabel="group", title="How often do you fly on holiday?")
left.legend(ncols=5, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15))
GraphMatrixDisplay.from_estimator(pipeline[-1], ax=right)
plt.show()
