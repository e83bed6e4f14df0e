"""Test vectors for devices in other languages: docs/tutorials/porting.md says how to use them."""
