"""The tests of nestmap."""
