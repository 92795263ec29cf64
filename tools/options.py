"""Where short code of the site may break: a hook of MkDocs, named in `mkdocs.yml`.

A browser breaks lines after a hyphen, so the hook marks each option such as `--skip-bad-rows`, and
`docs/assets/site.css` keeps what is marked whole. It breaks a long call anywhere, so the hook marks the places where a
reader would: after a dot, an equals sign or an opening bracket.
"""

from __future__ import annotations

import re
from typing import Any

SHORT = re.compile(r"<code>[^<]*</code>")  # code blocks have a class, or spans inside
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
CALL = re.compile(r"[\w.]+\.\w+|[^/]*?\w[(=].*")  # or a dotted name: neither paths nor shell commands
LONG = 24  # characters that may not fit on a line of a phone
BREAK = re.compile(r"""(?<=[(=])(?=[\w"'])|(?<=\w\.)(?=[A-Za-z_])""")
TEXT = re.compile(r"""(".*?"|'.*?')""")


def marked(html: str) -> str:
    """The page with every option in short code inside a span, and the breaks of long code."""
    return SHORT.sub(lambda code: f"<code>{_marked(code[0][6:-7])}</code>", html)


def _marked(code: str) -> str:
    if len(code) >= LONG and CALL.fullmatch(code):
        parts = TEXT.split(code)  # odd ones are texts, which stay whole
        return "".join(part if i % 2 else _breakable(part, i + 1 < len(parts)) for i, part in enumerate(parts))
    return OPTION.sub(r'<span class="option">\g<0></span>', code)


def _breakable(code: str, before_text: bool) -> str:
    broken = BREAK.sub("<wbr>", code)
    return f"{broken}<wbr>" if before_text and broken.endswith(("(", "=")) else broken


def on_page_content(html: str, **others: Any) -> str:
    return marked(html)
