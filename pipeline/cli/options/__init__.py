"""The options of the commands, as records; nothing heavy is imported here, so help is fast."""
