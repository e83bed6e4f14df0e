"""Test vectors for devices in other languages: docs/porting.md says how to use them."""
