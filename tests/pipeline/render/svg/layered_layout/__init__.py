"""Tests of pipeline/render/svg/layered_layout."""
