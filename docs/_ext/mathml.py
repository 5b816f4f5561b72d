"""Mathematics as MathML, which browsers draw by themselves: no script and no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.math import get_node_equation_number

#: What the converter of docutils does not know, in words that it does.
_KNOWN = {
    r"\\dots(?![a-z])": r"\\ldots ",
    r"\\(t?frac)(\d)(\d)": r"\\\1{\2}{\3}",
    r"\\operatorname\*?\{arg\\,(max|min)\}": r"\\operatorname{arg\1}",
}


def convert(text: str, *, block: bool) -> str:
    """MathML of LaTeX."""
    for unknown, known in _KNOWN.items():
        text = re.sub(unknown, known, text)
    return tex2mathml(text, as_block=block)


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext(), block=False))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="equation"))
    translator.body.append(convert(node.astext(), block=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="number">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
