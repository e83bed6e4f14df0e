"""Public references for private sampling: what is known of the data before looking at it."""

from confide.sampling.composed import Product, Sample
from confide.sampling.references import Box, Gaussian, Reference

__all__ = ["Box", "Gaussian", "Product", "Reference", "Sample"]
