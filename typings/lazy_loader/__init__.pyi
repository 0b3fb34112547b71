# lazy_loader has no annotations; these are the ones of what nestmap uses.
from collections.abc import Callable

def attach_stub(
    package_name: str, filename: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]: ...
