"""``nestmap serve``: serves the explorer of a store to the browser."""

import webbrowser

from nestmap.pipeline.cli.options.view import ServeOptions
from nestmap.pipeline.cli.printing import print_note, show_text
from nestmap.pipeline.util.extras import REPORT, check_installed
from nestmap.store import Store


def run_serve(options: ServeOptions) -> None:
    """Prints the address, and serves the store until Ctrl-C.

    Raises:
        NestmapError: where a package is missing, the port cannot be used, or there is no store.
        KeyboardInterrupt: when the user stops it.
    """
    check_installed("explorer", (*REPORT, "starlette", "uvicorn"), "web")
    from nestmap.pipeline.pages.explorer.access import new_token  # noqa: PLC0415
    from nestmap.pipeline.pages.explorer.server import DEFAULT_PORT, address, listening, serve  # noqa: PLC0415 (its packages are optional)

    Store.open_read_only(options.store).close()
    listener = listening(options.port)
    token = new_token() if options.token is None else options.token
    place = address(listener, token)
    show_text([place])
    if options.port is None and listener.getsockname()[1] != DEFAULT_PORT:
        print_note(f"Port {DEFAULT_PORT} is in use; this one is free.")
    print_note(
        f"The explorer of {options.store}, for everybody on this machine who has the address. Stop "
        "it with Ctrl-C."
    )
    if options.open:
        webbrowser.open(place)
    serve(options.store, listener, token)
