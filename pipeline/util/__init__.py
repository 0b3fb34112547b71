"""Files, optional packages, provenance: knows nothing of accelerators."""
