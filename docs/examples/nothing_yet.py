"""No past runs, no search space

For models that headstart knows, it brings both. The shipped history was measured on standardised columns, hence the
scaler.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import headstart as hs

X, y = load_breast_cancer(return_X_y=True)
history = hs.library.load("svm").drop("wdbc")  # the shipped history has this data set; pretend it is new
model = make_pipeline(StandardScaler(), SVC())
search = hs.sklearn.HeadstartSearchCV(model, history=history, n_trials=8, n_init=4, random_state=0).fit(X, y)

results = search.cv_results_
for i, params in enumerate(results["params"]):
    config = {name.removeprefix("svc__"): value for name, value in params.items()}
    print(f"{results['origin'][i]:10} {results['mean_test_score'][i]:.3f}", config)
