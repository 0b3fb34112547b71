"""The command line."""

from nestmap.pipeline.cli.interrupts import exit_if_interrupted


def main() -> None:
    """Runs the command line; the entry point of ``nestmap``."""
    with exit_if_interrupted():
        from nestmap.pipeline.cli.commands import app  # noqa: PLC0415 (interrupted meanwhile, too)

        app()
