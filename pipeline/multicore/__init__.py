"""Explorations on several cores: facade, plan, recording."""
