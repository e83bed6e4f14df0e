"""Long statistical studies; each writes versioned results and a table for the docs."""
