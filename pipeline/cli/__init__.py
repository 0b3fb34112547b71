"""The command line: ``nestmap explore``, ``evaluate``, ``query`` and ``examples``."""

from nestmap.pipeline.cli.app import main as main
