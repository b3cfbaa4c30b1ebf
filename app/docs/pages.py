"""Brings together what mkdocs makes a site of: the Markdown files of the repository at their own paths, so that their links
hold in both places; a page for every notebook; and the generated reference.

    python3 app/docs/pages.py PROGRAM FOLDER
"""

import json
import os
import pathlib
import re
import shutil
import sys

import command_reference
import python_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = {".png", ".svg", ".jpg"}
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^ *(```|~~~)")
SITE_NAMES = {pathlib.Path("app/docs/index.md"): pathlib.Path("index.md"), pathlib.Path("README.md"): pathlib.Path("about.md")}


def markdown_files():
    """All of the project, relative to its root."""
    folders = ("app", "data", "io", "recon", "validation")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.md")]
    return sorted(path.relative_to(ROOT) for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *found])


def links(text):
    """The targets of all links outside of code, as written."""
    return [target for _, target in LINK.findall(without_code(text))]


def without_code(text):
    """The lines that are no fenced or indented code, without `code` in them."""
    kept, fenced, before = [], False, ""
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not (line.startswith("    ") and (before == "" or before.startswith("    "))):
            kept.append(re.sub(r"`[^`]*`", "", line))
        before = line
    return "\n".join(kept)


def is_outside(target):
    return re.match(r"[a-z]+:", target) is not None


def page_of(target):
    """Return where the site has a linked file or folder of the repository (both relative to its root); None: nowhere."""
    if (ROOT / target / "README.md").is_file():
        return target / "README.md"
    if target.suffix == ".ipynb":
        return target.with_name(target.name + ".md")
    return target if target.suffix == ".md" or target.suffix in PICTURES else None


def on_site(page):
    """Return the place of a page of the repository in the site, which begins with the index of the documentation."""
    return SITE_NAMES.get(page, page)


def notebook_text(path):
    """Return a notebook as Markdown: its texts, and its code in blocks."""
    cells = json.loads(path.read_text())["cells"]

    def part(cell):
        text = "".join(cell["source"])
        return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"

    return "\n\n".join(map(part, cells)) + "\n"


def for_mkdocs(text, page):
    """Links lead to pages of the site, or are text where it has none; code within list items is indented, and `|` within
    code written, as Python-Markdown wants it."""

    def relinked(match):
        target, hash_, anchor = match[2].partition("#")
        if is_outside(match[2]) or not target:
            return match[0]
        linked = page_of(pathlib.Path(os.path.normpath(page.parent / target)))
        if linked is None:
            return match[1][1:-1]
        return f"{match[1]}({os.path.relpath(on_site(linked), on_site(page).parent)}{hash_}{anchor})"

    out, fenced, before, in_item = [], False, "", False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        if not fenced:
            in_item = bool(re.match(r"- |\d+\. ", line)) or (in_item and (line == "" or line.startswith("  ")))
            if in_item and re.match(r" {6}\S", line) and (before == "" or before.startswith("      ")):
                line = "  " + line
            elif not line.startswith("    "):
                line = LINK.sub(relinked, line)
                line = re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), line)
        before = line
        out.append(line)
    return "\n".join(out) + "\n"


def make_pages(program, folder):
    """All pages into `folder`, which is emptied; SystemExit where it holds anything but pages."""
    if folder.exists():
        if any(folder.iterdir()) and not (folder / "app/docs/reference/commands.md").is_file():
            raise SystemExit(f"docs: {folder}: expected an empty folder, or earlier pages, found something else")
        shutil.rmtree(folder)
    texts = {path: (ROOT / path).read_text() for path in markdown_files()}
    for path in (ROOT / "app/python/notebooks").glob("*.ipynb"):
        texts[page_of(path.relative_to(ROOT))] = notebook_text(path)
    copied = {pathlib.Path("app/docs") / name for name in ("iframe-worker.js", "pages.css")}
    for page, text in {**texts, **generated_pages(program)}.items():
        pictures = [target for target in links(text) if pathlib.Path(target).suffix in PICTURES and not is_outside(target)]
        copied |= {pathlib.Path(os.path.normpath(page.parent / picture)) for picture in pictures}
        (folder / on_site(page)).parent.mkdir(parents=True, exist_ok=True)
        (folder / on_site(page)).write_text(for_mkdocs(text, page))
    for path in copied:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)


def generated_pages(program):
    """The pages that no file of the repository holds: path and text."""
    reference = pathlib.Path("app/docs/reference")
    return {
        reference / "commands.md": command_reference.reference(program),
        reference / "python.md": python_reference.reference(ROOT / "app/python/fhd"),
    }


if __name__ == "__main__":
    make_pages(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
