"""Two-sided geometric noise, a value at a time: there is no vector form."""

from diffprivlib.mechanisms import Geometric
from timing import best, tell

mechanism = Geometric(epsilon=1.0, sensitivity=1023)
tell("diffprivlib", 100 * best(lambda: [mechanism.randomise(5) for _ in range(10_000)]))
