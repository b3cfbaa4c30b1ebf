"""Brings together what mkdocs makes a site of: the Markdown files of the repository at their own paths, so that their links
hold in both places; a page for every other file and folder that they link to; and the generated reference.

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
    """Return where the site has a linked file or folder of the repository (both relative to its root)."""
    if (ROOT / target).is_dir():
        return target / ("README.md" if (ROOT / target / "README.md").is_file() else "index.md")
    if target.suffix == ".md" or target.suffix in PICTURES:
        return target
    return target.with_name(target.name + ".md")


def notebook_text(path):
    """Return a notebook as Markdown: its texts, and its code in blocks."""
    cells = json.loads(path.read_text())["cells"]

    def part(cell):
        text = "".join(cell["source"])
        return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"

    return "\n\n".join(map(part, cells)) + "\n"


def folder_text(path):
    """Return a list of a folder's files, newest first where names begin with a date, each with its title."""
    files = sorted((file for file in path.iterdir() if file.is_file()), reverse=True)

    def entry(file):
        first = file.read_text(errors="replace").partition("\n")[0] if file.suffix == ".md" else ""
        title = first.removeprefix("# ") if first.startswith("# ") else ""
        return f"- [{file.name}]({file.name}){': ' + title if title else ''}"

    return f"# {path.relative_to(ROOT)}\n\n" + "\n".join(map(entry, files)) + "\n"


def source_text(path):
    """Any other file as a block of code."""
    language = {".hpp": "cpp", ".cpp": "cpp", ".py": "python", ".json": "json"}.get(path.suffix, "text")
    return f"# {path.relative_to(ROOT)}\n\n````{language}\n{path.read_text()}\n````\n"


def for_mkdocs(text, page):
    """Links lead to pages of the site; code within list items is indented, and `|` within code written, as Python-Markdown
    wants it."""

    def relinked(match):
        target, hash_, anchor = match[2].partition("#")
        if is_outside(match[2]) or not target:
            return match[0]
        linked = pathlib.Path(os.path.normpath(page.parent / target))
        if linked.parts[0] == ".." or (page_of(linked) == linked):
            return match[0]
        return f"{match[1]}({os.path.relpath(page_of(linked), page.parent)}{hash_}{anchor})"

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


def text_of(path):
    """The page of a linked file or folder that is no Markdown."""
    if path.is_dir():
        return folder_text(path)
    return notebook_text(path) if path.suffix == ".ipynb" else source_text(path)


def bring(page, text, folder, waiting):
    """Write a page, and remember what it links to."""
    for target in links(text):
        linked = pathlib.Path(os.path.normpath(page.parent / target.partition("#")[0]))
        if not is_outside(target) and target[0] != "#" and (ROOT / linked).exists() and linked.parts[0] != "..":
            waiting.append(linked)
    (folder / page).parent.mkdir(parents=True, exist_ok=True)
    (folder / page).write_text(for_mkdocs(text, page))


def make_pages(program, folder):
    """All pages into `folder`, which is emptied; SystemExit where it holds anything but pages."""
    if folder.exists():
        if any(folder.iterdir()) and not (folder / "app/docs/reference/commands.md").is_file():
            raise SystemExit(f"docs: {folder}: expected an empty folder, or earlier pages, found something else")
        shutil.rmtree(folder)
    generated = generated_pages(program)
    waiting, done = [*markdown_files(), pathlib.Path("validation/results")], set()
    for page, text in generated.items():
        bring(page, text, folder, waiting)
    while waiting:
        path = waiting.pop()
        page = page_of(path)
        if page in done or page in generated:
            continue
        done.add(page)
        if page.suffix in PICTURES:
            (folder / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / page)
        else:
            source = ROOT / page if (ROOT / page).is_file() else ROOT / path
            bring(page, source.read_text() if source.suffix == ".md" else text_of(source), folder, waiting)
    for name in ("iframe-worker.js", "pages.css"):
        shutil.copy(ROOT / "app/docs" / name, folder / "app/docs" / name)


def generated_pages(program):
    """The pages that no file of the repository holds: path and text."""
    reference = pathlib.Path("app/docs/reference")
    return {
        reference / "commands.md": command_reference.reference(program),
        reference / "python.md": python_reference.reference(ROOT / "app/python/fhd"),
    }


if __name__ == "__main__":
    make_pages(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
