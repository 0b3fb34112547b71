"""Notebook views of models: small HTML tables without scripts."""
