"""Mechanisms turn a private value into a report that may leave the device."""

from __future__ import annotations

from confide.exact.inversion import Part
from confide.mechanisms.categories import Categorical, ForcedResponse, RandomizedResponse
from confide.mechanisms.joint import Joint
from confide.mechanisms.laplace import Laplace
from confide.mechanisms.pair_response import PairResponse, Side
from confide.mechanisms.partition import Partition
from confide.mechanisms.protocol import Channel, Mechanism, Numeric, Private, Reports
from confide.mechanisms.register import KINDS, MAX_CELLS, MAX_TABLES, from_dict, numeric
from confide.mechanisms.square_wave import SquareWave
from confide.mechanisms.two_sided_gamma import TwoSidedGamma

__all__ = [
    "KINDS",
    "MAX_CELLS",
    "MAX_TABLES",
    "Categorical",
    "Channel",
    "ForcedResponse",
    "Joint",
    "Laplace",
    "Mechanism",
    "Numeric",
    "PairResponse",
    "Part",
    "Partition",
    "Private",
    "RandomizedResponse",
    "Reports",
    "Side",
    "SquareWave",
    "TwoSidedGamma",
    "from_dict",
    "numeric",
]
