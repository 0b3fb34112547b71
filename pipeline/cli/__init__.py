"""The command line."""

from nestmap.pipeline.cli.commands import main as main
