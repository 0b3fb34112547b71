"""The command line: ``nestmap explore``, ``evaluate``, ``show``, ``query`` and ``examples``."""

from nestmap.pipeline.cli.commands import main as main
