# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   portal:
#     packages: [matplotlib, numpy, pandas, scikit-learn]
# ---
# ruff: noqa: D100, D103

# %% [markdown]
# # Gradient boosting and other models for a table, on all cores
#
# For tables of up to some million rows, gradient boosting on a few cores is often better and faster
# than a network on a GPU. Compares four models of scikit-learn by cross-validation, tunes the best
# one, tests it once and says which columns it uses.
#
# | | |
# |---|---|
# | **Data** | 569 tumours with 30 columns each, from scikit-learn; then your own table |
# | **Time** | 15 seconds on 2 cores |
# | **Devices** | all cores of the session; no GPU, so start a session without one |

# %%
import os
import time

# One thread for each training, and as many trainings at a time as there are cores: with more
# threads, they would wait for each other. It is read when NumPy and scikit-learn are imported.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RandomizedSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

# os.cpu_count() would count the cores of the whole node.
N_CORES = len(os.sched_getaffinity(0))
print(f"{N_CORES} cores")

# %% [markdown]
# ## The table
#
# For your own: `table = pd.read_csv("mine.csv")`, and the name of the column to predict.

# %%
table = load_breast_cancer(as_frame=True).frame
TARGET = "target"

inputs, labels = table.drop(columns=TARGET), table[TARGET]
train_inputs, test_inputs, train_labels, test_labels = train_test_split(
    inputs, labels, test_size=0.25, stratify=labels, random_state=1
)
print(f"{len(train_inputs)} rows to choose a model, {len(test_inputs)} to test it once")
train_inputs.describe().T[["mean", "std", "min", "max"]].round(2).head()

# %% [markdown]
# ## Which model?
#
# Cross-validation: the training rows are divided into five parts; each model is trained five times
# on four of them and validated on the fifth. What has to be learned from data, such as the means of
# `StandardScaler`, is in the pipeline: outside it would have seen the validation rows.
#
# The score is the area under the ROC curve (AUC): 0.5 is guessing, 1 is perfect. It does not care
# how many rows each class has, as accuracy does.

# %%
MODELS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "support vector machine": make_pipeline(StandardScaler(), SVC()),
    "random forest": RandomForestClassifier(200, random_state=1),
    "gradient boosting": HistGradientBoostingClassifier(random_state=1),
}
scores = {}
for name, model in MODELS.items():
    began = time.perf_counter()
    scores[name] = cross_val_score(
        model, train_inputs, train_labels, cv=5, scoring="roc_auc", n_jobs=N_CORES
    )
    seconds = time.perf_counter() - began
    print(f"{name:22}  AUC {scores[name].mean():.4f} ± {scores[name].std():.4f}  {seconds:5.1f} s")

# %% [markdown]
# If two models are closer than their ±, take the simpler one.
#
# ## Tune one, on all cores
#
# 16 random settings, each in five parts: 80 trainings, which scikit-learn spreads over the cores.

# %%
SETTINGS = {
    "learning_rate": np.geomspace(0.02, 0.3, 20),
    "max_leaf_nodes": [4, 8, 16, 32],
    "l2_regularization": [0, 0.1, 1, 10],
    "max_iter": [40, 80, 160],
}


def search(n_iter, n_jobs):
    found = RandomizedSearchCV(
        HistGradientBoostingClassifier(random_state=1),
        SETTINGS,
        n_iter=n_iter,
        scoring="roc_auc",
        cv=5,
        n_jobs=n_jobs,
        random_state=1,
    )
    began = time.perf_counter()
    found.fit(train_inputs, train_labels)
    return found, time.perf_counter() - began


if N_CORES >= 4:
    search(2, N_CORES)  # starts the processes, which is not timed
    _, one_seconds = search(6, 1)
    _, all_seconds = search(6, N_CORES)
    print(f"6 settings: {one_seconds:.1f} s on one core, {all_seconds:.1f} s on {N_CORES}.")

best, seconds = search(16, N_CORES)
print(f"16 settings: {seconds:.1f} s. Best AUC in validation: {best.best_score_:.4f} with")
for name, value in best.best_params_.items():
    print(f"  {name} = {value:.3g}")

# %% [markdown]
# ## The test
#
# Now, once, the rows that were laid aside.

# %%
accuracy = (best.predict(test_inputs) == test_labels).mean()
auc = roc_auc_score(test_labels, best.predict_proba(test_inputs)[:, 1])
print(f"Test accuracy: {accuracy:.4f}, AUC {auc:.4f}")

# %% [markdown]
# ## Which columns does it use?
#
# Each column of the test rows is shuffled ten times. The more the AUC drops, the more the model
# relies on that column. Columns that say the same share their importance: none of them drops much.

# %% tags=["gallery"]
found = permutation_importance(
    best, test_inputs, test_labels, scoring="roc_auc", n_repeats=10, random_state=1, n_jobs=N_CORES
)
order = found.importances_mean.argsort()[-10:]
_, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
axis.boxplot(
    found.importances[order].T, orientation="horizontal", tick_labels=inputs.columns[order]
)
axis.axvline(0, color="#9aa5b1", linestyle="--")
axis.set(xlabel="drop of the AUC")
axis.spines[["top", "right"]].set_visible(False)

# %% [markdown]
# Save it with `joblib.dump(best.best_estimator_, "model.joblib")`, and load it only with the same
# version of scikit-learn, and only from people whom you trust: loading runs code.
#
# **Next:** [a network for your own CSV](../../templates/data/your_own.ipynb).
