"""Exploration on one core: facade, plan, recording, resuming, repricing."""
