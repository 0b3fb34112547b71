"""nestmap."""
