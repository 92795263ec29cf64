"""No past runs, no search space

For models that headstart knows, it brings both. The shipped history was
measured on standardised columns, hence the scaler.
"""

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import headstart as hs

# The shipped history has this data set under the name wdbc; pretend it is new.
X, y = load_breast_cancer(return_X_y=True)
history = hs.library.load("svm").drop("wdbc")

model = make_pipeline(StandardScaler(), SVC())
search = hs.sklearn.HeadstartSearchCV(
    model, history=history, n_trials=8, n_init=4, random_state=0
)
search.fit(X, y)

table = pd.DataFrame(search.cv_results_).filter(regex="origin|mean_test|param_")
table.columns = [name.removeprefix("param_svc__") for name in table]
print(table.round(4).to_string(na_rep=""))
