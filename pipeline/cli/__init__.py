"""The command line: ``nestmap explore``, ``evaluate``, ``show``, ``query`` and ``examples``."""

from nestmap.pipeline.cli.app import main as main
