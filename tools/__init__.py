"""Tools of those who maintain the package."""
