"""The site's hook for mkdocs: it has the repository's tree, its anchors are GitHub's, its sections grow.

mkdocs knows one directory of pages; ours link to examples, tests and the files beside README.md. Each
page has the path in the site that it has in the repository, so a relative link needs no rewriting.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tests.pages import anchors, links

_ROOT = Path(__file__).resolve().parents[2]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name anchors as GitHub does."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchors.slug
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Take the pages of the whole repository, and all that they link to; arrange them."""
    of_theme = [file for file in files if file.src_dir != config.docs_dir]
    pages = links.pages()
    linked = {target for page in pages for target in links.targets(page) if target.is_file()}
    paths = [str(path.relative_to(_ROOT)) for path in dict.fromkeys([*pages, *sorted(linked)])]
    paths += map(str, config.extra_css)
    config.nav = arranged(config.nav or [], [path for path in paths if path.endswith(".md")])
    ours = [
        File(path, str(_ROOT), config.site_dir, use_directory_urls=config.use_directory_urls)
        for path in paths
    ]
    return Files([*of_theme, *ours])


def arranged(nav: list[Any], pages: list[str]) -> list[Any]:
    """Replace patterns by the pages that fit and are named nowhere; leave out those not there yet."""
    free = [page for page in pages if page not in set(_named(nav))]
    sections = []
    for section in nav:
        for title, words in section.items():
            found: list[str] = []
            for word in words:
                fitting = [page for page in free if fnmatch.fnmatch(page, word)]
                free = [page for page in free if page not in fitting]
                found += [word] if word in pages else fitting
            sections += [{title: found}] if found else []
    return sections


def _named(nav: list[Any]) -> Iterator[str]:
    return (word for section in nav for words in section.values() for word in words)
