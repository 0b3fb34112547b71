"""Explorations on several cores: facade, plan, pipeline, recording."""
