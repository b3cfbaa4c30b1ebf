"""What the Markdown files of the project say, for the tests of them: links, anchors, and blocks of code that run."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "app" / "docs"))

import pages  # noqa: E402  (of app/docs)


def lines_and_fences(text):
    """Each line, and whether it lies in a fenced block of code."""
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(pages.FENCE.match(line))
        yield line, fenced


def anchors(text):
    """Of the headings, as GitHub names them: lower case, hyphens for spaces, the rest of the punctuation left out."""
    found = []
    for line, fenced in lines_and_fences(text):
        heading = re.match(r"#{1,6} +(.*?) *#*$", line)
        if heading and not fenced:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            found.append(name + (f"-{found.count(name)}" if name in found else ""))
    return found


def sections(text):
    """The parts of a page that a heading begins: {anchor: text up to the next heading}."""
    parts, name, names = {}, "", iter(anchors(text))
    for line, is_code in lines_and_fences(text):
        if not is_code and re.match(r"#{1,6} ", line):
            name = next(names)
        parts[name] = parts.get(name, "") + line + "\n"
    return parts


def best_sections(query, texts, count=3):
    """The (path, anchor) of the sections that a search for words finds first: all words in it, most of them in its heading, then in its text."""
    words = query.lower().split()

    def score(text):
        heading, _, body = text.lower().partition("\n")
        if not all(word in heading + body for word in words):
            return 0
        return 100 * sum(word in heading for word in words) + sum(body.count(word) for word in words)

    found = [(score(text), str(path), anchor) for path, page in texts.items() for anchor, text in sections(page).items()]
    return [(path, anchor) for points, path, anchor in sorted(found, reverse=True)[:count] if points]


def broken_links(path, texts):
    """Of one file (relative to the root) among texts {path: text}: one sentence for each link that leads nowhere."""
    told = []
    for link in pages.links(texts[path]):
        target, _, anchor = link.partition("#")
        if pages.is_outside(link):
            continue
        to = path
        if target:
            to = pathlib.Path(pages.os.path.normpath(path.parent / target))
            if to.parts[0] == ".." or not ((ROOT / to).exists() or to in texts):
                told.append(f"{path}: {link}: there is no {to}")
                continue
        if anchor and anchor not in anchors(texts.get(to, "")):
            told.append(f"{path}: {link}: {to} has no heading of that name")
    return told


def blocks(text):
    """The fenced blocks: (language, code, the comment before it, such as 'needs h5py')."""
    pattern = r"(?:<!-- (.*?) -->\n)?^```(\w+)\n(.*?)^```$"
    return [(language, code, note) for note, language, code in re.findall(pattern, text, re.MULTILINE | re.DOTALL)]


def commands(block):
    """Of a block `console`: [(command, exit status, lines of its output that are shown)]."""
    told = []
    for line in block.splitlines():
        if line.startswith("$ "):
            status = re.search(r"# exit status (\d)$", line)
            told.append((line[2:], int(status[1]) if status else 0, []))
        elif line.strip():
            told[-1][2].append(line)
    return told


def pattern_of(line):
    """A line of output as a pattern: any number in the place of a number, anything in the place of '…'."""
    escaped = re.escape(re.sub(r"\s+", " ", line.strip()))
    escaped = re.sub(r"\d+(\\\.\d+)?(e(\\[-+]|\+)?\d+)?", r"[-+.\\de]+", escaped)
    return re.compile(escaped.replace(r"\…", "…").replace("…", ".*"))


def run_console(block, folder, environment):
    """Run the commands of a block; AssertionError where one ends, or prints, otherwise than the page says."""
    for command, status, shown in commands(block):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode == status, f"$ {command}\nexit status {done.returncode}\n{done.stdout}"
        output = [re.sub(r"\s+", " ", line.strip()) for line in done.stdout.splitlines()]
        for line in shown:
            is_there = any(pattern_of(line).fullmatch(found) for found in output)
            assert is_there, f"$ {command}\nno line '{line}' in\n{done.stdout}"
