"""Published measurements of chips beside what nestmap says of them."""
