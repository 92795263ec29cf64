"""Search spaces: parameters, conditions, encodings, and conversion from one space to another.

May import: `_support`. Hands on: `Space`, which turns configurations (dictionaries in the user's units) into matrices
of values V and encodings Z. All other folders work with these.
"""

from headstart.space.foreign import as_space
from headstart.space.guessing import infer_space
from headstart.space.numeric import Float, Int
from headstart.space.parameters import Categorical, Parameter
from headstart.space.reconciliation import Change, Reconciled, reconcile
from headstart.space.space import Config, Space

__all__ = [
    "Categorical",
    "Change",
    "Config",
    "Float",
    "Int",
    "Parameter",
    "Reconciled",
    "Space",
    "as_space",
    "infer_space",
    "reconcile",
]
