"""Exploration on several cores: facade, plan, pipeline, recording."""
