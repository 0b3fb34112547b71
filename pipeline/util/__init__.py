"""Files, optional packages, provenance, JSON: independent of accelerators."""
