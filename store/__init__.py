"""Past explorations in DuckDB."""
