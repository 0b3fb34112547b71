"""Pages of runs on several cores: the schedule, what it costs, how its allocation was found."""
