"""How the nodes of each operator are drawn (random_cases.py): one function per family, in a module per kind."""
from operator_draws import combining, elementwise, moving, sources  # noqa: F401, they register their functions
