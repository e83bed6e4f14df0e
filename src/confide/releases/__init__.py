"""What a curator who holds raw values may publish about them."""

from confide.releases.base import Release
from confide.releases.bernstein import Bernstein
from confide.releases.histogram import Histogram
from confide.releases.noise import DiscreteLaplace
from confide.releases.query import Query
from confide.releases.series import Series

__all__ = ["Bernstein", "DiscreteLaplace", "Histogram", "Query", "Release", "Series"]
