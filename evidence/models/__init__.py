"""Private classifiers and regressions beside those without noise."""
