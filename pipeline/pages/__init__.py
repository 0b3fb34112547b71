"""HTML pages: the report and the explorer."""
