"""How GitHub names the anchor of a heading."""

from __future__ import annotations

import re


def slug(heading: str, separator: str = "-") -> str:
    """Return the anchor of a heading: small letters, no marks, a hyphen for each blank.

    Args:
        heading: its text, with or without Markdown's marks for code and links.
        separator: what stands for a blank.
    """
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", separator)
