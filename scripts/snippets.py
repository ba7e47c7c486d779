"""Reads the parts of a snippet that documents show, by the markers of Swift Evolution's SE-0356.

`// snippet.hide` and `// snippet.show` hide what stands between them. `// snippet.NAME` begins a slice, which
a page can show by itself, and `// snippet.end` ends it.
"""
import pathlib
import re
from dataclasses import dataclass, field

MARKER = re.compile(r"^\s*// snippet\.(\w+)\s*$")


@dataclass
class Snippet:
    """The visible lines of a snippet, and of each slice the range of its lines."""

    name: str
    lines: list[str] = field(default_factory=list)
    slices: dict[str, list[int]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def read(path: pathlib.Path) -> Snippet:
    snippet = Snippet(path.stem)
    is_visible = True
    slice_start = slice_name = None

    def end_slice() -> None:
        if slice_name:
            snippet.slices[slice_name] = [slice_start, len(snippet.lines)]

    for line in path.read_text().splitlines():
        marker = MARKER.match(line)
        if not marker:
            if is_visible:
                snippet.lines.append(line)
        elif marker[1] in ("hide", "show"):
            is_visible = marker[1] == "show"
        else:
            end_slice()
            slice_name = marker[1] if marker[1] != "end" else None
            slice_start = len(snippet.lines)
    end_slice()
    return snippet
