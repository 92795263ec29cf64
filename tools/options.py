"""Options such as `--skip-bad-rows` stay on one line of the site: a hook of MkDocs, named in `mkdocs.yml`.

A browser breaks lines after a hyphen. The hook marks each option inside short code, and `docs/assets/site.css` keeps
what is marked whole.
"""

from __future__ import annotations

import re
from typing import Any

SHORT = re.compile(r"<code>[^<]*</code>")  # code blocks have a class, or spans inside
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def marked(html: str) -> str:
    """The page with every option in short code inside a span."""
    return SHORT.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), html)


def on_page_content(html: str, **others: Any) -> str:
    return marked(html)
