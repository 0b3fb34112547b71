"""Which tests one worker of pytest-xdist runs together, so that what they share is made once."""

from typing import Final, final

from xdist.scheduler import LoadScopeScheduling

TOGETHER: Final = (
    *("tests/browser/", "tests/notebooks/", "tests/pipeline/pages/explorer/"),
    *("tests/pipeline/pages/report/", "tests/pipeline/render/charts/"),
)
"""Folders whose files share something that takes long to make."""


def group_of(test: str) -> str:
    """The folder or file whose tests run together with this one, given by its node id."""
    file = test.partition("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(folder)), file)


@final
class GroupScheduling(LoadScopeScheduling):
    """Gives whole groups to workers, those with most tests first.

    Not ``--dist loadgroup``: it is without effect since pytest 9.2, as it changes node ids by an
    attribute that is not read any more.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
