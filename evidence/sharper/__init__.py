"""How sharp the default estimate is, on populations that were set apart before anything was tuned."""
