"""The documents: their snippets run, the site builds, everything public is described."""
