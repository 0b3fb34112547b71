"""Pages about several cores: schedule, costs, search for the allocation."""
