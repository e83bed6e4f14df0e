"""Google's Laplace mechanism, a value at a time: the Python binding has no vector form."""

from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
from timing import best, tell

mechanism = LaplaceMechanism(epsilon=1.0, sensitivity=1023)
tell("python-dp", 10 * best(lambda: [mechanism.add_noise(5) for _ in range(100_000)]))
