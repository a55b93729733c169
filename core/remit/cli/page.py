"""Pages that need nothing else: no script, no font, no request; readable in light and dark.

Every text is escaped, and a content security policy in the page forbids whatever could be smuggled in all the same.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from remit.cli import screen

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d8dee4; --page: #fff; --band: #f6f8fa;
  --bad: #b42318; --badback: #fee4e2; --warn: #7a4d00; --warnback: #fff1cc; --good: #116329; --goodback: #dafbe1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --page: #0d1117;
  --band: #161b22; --bad: #ffa198; --badback: #4b1113; --warn: #f0c674; --warnback: #3b2e0a; --good: #7ee787;
  --goodback: #0f3d1f; } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
h1 { font-size: 1.6rem; margin: 0 } h2 { font-size: 1.15rem; margin: 2.25rem 0 .6rem }
p { margin: .3rem 0 } .soft { color: var(--soft) } .path { overflow-wrap: anywhere }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem;
  margin: 1.25rem 0 0; padding: 0; list-style: none }
.figures li { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .9rem }
.figures b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem; border-top: 1px solid var(--line) }
tr:first-child th { border-top: 0 } thead th { background: var(--band); font-weight: 600; white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums } code { font: 13px/1.5 ui-monospace, monospace;
  overflow-wrap: anywhere }
.tag { display: inline-block; border-radius: 1rem; padding: 0 .55rem; font-size: 13px; white-space: nowrap;
  background: var(--band); border: 1px solid var(--line) }
.bad { color: var(--bad); background: var(--badback); border-color: transparent }
.warn { color: var(--warn); background: var(--warnback); border-color: transparent }
.good { color: var(--good); background: var(--goodback); border-color: transparent }
ul.plain { margin: 0; padding-left: 1.2rem } ul.bare { margin: 0; padding: 0; list-style: none }
@media print { body { max-width: none; padding: 0 } .wide { overflow: visible } }
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def head(title: str) -> str:
    """Return the beginning of a page, up to its `<body>`."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head><body>"
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, none: str) -> Iterator[str]:
    """Yield a table of cells that are HTML already; headings are text."""
    shown = list(rows)
    if not shown:
        yield f"<p>{text(none)}</p>"
        return
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{text(heading)}</th>' for heading in headings) + "</tr></thead><tbody>"
    for row in shown:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
    yield "</tbody></table></div>"


def bare(items: Iterable[str]) -> str:
    """Return items, HTML already, below each other; nothing where there are none."""
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="bare">{rows}</ul>' if rows else ""


def codes(lines: Iterable[str]) -> str:
    """Return texts as code, below each other."""
    return bare(f"<code>{text(line)}</code>" for line in lines)


def tag(words: str, kind: str) -> str:
    """Return words as a small label; `kind` is `good`, `warn`, `bad` or nothing."""
    return f'<span class="tag {kind}">{text(words)}</span>'


def text(raw: str) -> str:
    """Return text escaped for HTML; what cannot be seen is made visible first."""
    return html.escape(screen.visible(raw), quote=True)
