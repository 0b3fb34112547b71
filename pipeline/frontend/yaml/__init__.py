"""The parsers: files and foreign models become domain models."""
