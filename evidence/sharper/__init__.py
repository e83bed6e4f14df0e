"""How sharp the default estimate is, on populations set apart before anything was tuned."""
