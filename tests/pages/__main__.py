"""Renew what the code writes into docs/: `python -m tests.pages`; `--check` only tells what has drifted."""

from __future__ import annotations

import sys

from tests.pages import regions


def main() -> int:
    """Write or compare; 1 when something had drifted and was not written."""
    only_check = sys.argv[1:] == ["--check"]
    count = 0
    for region, page in regions.drifted():
        count += 1
        if only_check:
            print(f"{region.page}: <!-- {region.name} --> has drifted; run `make docs`")  # noqa: T201
        else:
            (regions.ROOT / region.page).write_text(page)
            print(f"{region.page}: {region.name} is renewed")  # noqa: T201
    return 1 if count and only_check else 0


if __name__ == "__main__":
    sys.exit(main())
