"""Whether the collector keeps what it has acknowledged, counts everybody once, and recovers."""
