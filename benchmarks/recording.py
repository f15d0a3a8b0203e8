"""Draw the README's animation, a session without and with memory, from the output of the real demo.

    python benchmarks/recording.py [FILE]

Runs `claude-mem demo` in a terminal of 80 columns and writes docs/demo.svg, or FILE. The part without memory
shows the same moments of the demo, with nothing shown to Claude. The image loads no scripts or fonts; with
reduced motion preferred, it shows everything at once.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path

from claude_mem_lite.cli.demo import MOMENTS

COLUMNS = 80
WIDTH, LINE, LEFT, TOP = 720, 19, 18, 42
# Runs the command as if on a terminal, without progress bars.
PROGRAM = (
    "import sys\n"
    "from claude_mem_lite.cli import terminal\n"
    "terminal.is_terminal = lambda: True\n"
    "from claude_mem_lite import cli\n"
    "sys.argv = ['claude-mem', 'demo']\n"
    "cli.main()\n"
)
CLASSES = {"1": "bold", "2": "dim", "32": "good"}
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d6dae2;
  white-space: pre }
.bold { font-weight: bold; fill: #fff } .dim { fill: #8b93a3 } .good { fill: #7fd18b } .head { fill: #e5c07b }
.line { opacity: 0; animation: show .2s forwards }
@keyframes show { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { .line { animation: none; opacity: 1 } }
"""


def demo() -> list[str]:
    """Return the lines of the demo with their styles."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.rstrip().split("\n")


def before() -> list[str]:
    """Return the lines of the demo's moments without a memory."""
    found = []
    for number, moment in enumerate(MOMENTS, 1):
        found += [f"\x1b[1m{number}  {moment.title.split(' that ')[0]}\x1b[0m", f"   {moment.happens}",
                  "   \x1b[2m│ (Claude is told nothing)\x1b[0m", ""]  # fmt: skip
    return found


def drawn(line: str) -> str:
    """Return a line's text as spans."""
    spans = []
    for code, text in re.findall(r"(?:\x1b\[([0-9;]+)m)?([^\x1b]*)(?:\x1b\[0m)?", line):
        if text:
            name = CLASSES.get(code, "")
            spans.append(
                f'<tspan class="{name}">{escape(text)}</tspan>' if name else f"<tspan>{escape(text)}</tspan>"
            )
    return "".join(spans)


def svg(lines: list[str]) -> str:
    """Return an SVG in which the lines appear one after the other."""
    height = TOP + LINE * len(lines) + 14
    rows = []
    for number, line in enumerate(lines):
        if line:
            y, after_s = TOP + LINE * (number + 1) - 5, 0.18 * number
            rows.append(
                f'<text class="line" xml:space="preserve" x="{LEFT}" y="{y}"'
                f' style="animation-delay:{after_s:.2f}s">{drawn(line)}</text>'
            )
    dots = "".join(
        f'<circle cx="{LEFT + 6 + 18 * number}" cy="20" r="5" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img"'
        ' aria-label="What Claude is told in three moments of a session, before and after">'
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{height}" rx="8" fill="#1d2129"/>{dots}\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def main() -> None:
    """Draw and write."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "docs" / "demo.svg")
    lines = ["\x1b[1mBefore: a session without memory\x1b[0m", "", *before(),
             "\x1b[1mAfter: claude-mem demo\x1b[0m", "", *demo()]  # fmt: skip
    target.write_text(svg(lines), encoding="utf-8")
    print(f"{target}: {len(lines)} lines")


if __name__ == "__main__":
    main()
