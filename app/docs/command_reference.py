"""The reference of commands, from what `fhd COMMAND --help` prints."""

import re
import subprocess

#: An option or argument at the beginning of a line; its text follows after two spaces, or on further lines.
ITEM = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
CONTINUATION = re.compile(r"^ {20,}(\S.*)$")


def help_of(program, *command):
    """Return what `fhd COMMAND --help` prints; OSError or CalledProcessError where it does not run."""
    return subprocess.run(
        ["fhd", *command, "--help"], executable=program, check=True, capture_output=True, text=True
    ).stdout


def commands_of(text):
    """The commands that `fhd --help` lists: [(name, what it does)]."""
    listed = text.split("Subcommands:\n", 1)[1]
    return re.findall(r"^  (\w+)\s{2,}(\S.*)$", listed, re.MULTILINE)


def cell(text):
    """Text in a cell of a table: nothing in it is markup."""
    return re.sub(r"([\\|*_<>\[\]`])", r"\\\1", text)


def markdown_of_help(text):
    """Paragraphs stay paragraphs; options become tables of option and meaning."""
    lines, out, items = text.splitlines(), [], []

    def end_table():
        if items:
            out.extend(["", "| | meaning |", "|---|---|", *(f"| `{name}` | {cell(meaning)} |" for name, meaning in items), ""])
            items.clear()

    for line in lines:
        continued, item = CONTINUATION.match(line), ITEM.match(line)
        if continued and items:
            items[-1] = (items[-1][0], f"{items[-1][1]} {continued[1]}".strip())
        elif item:
            items.append((item[1], item[2] or ""))
        else:
            end_table()
            heading = re.fullmatch(r"(\S.*):", line)
            out.append(f"**{cell(heading[1])}**" if heading else cell(line))
            if line.startswith("Usage:"):
                out[-1] = f"\n    {line.removeprefix('Usage: ')}\n"
    end_table()
    return "\n".join(out)


def reference(program):
    """The page of all commands."""
    page = ["# Commands and their options", "", "As `fhd COMMAND --help` prints them.", ""]
    for name, _ in commands_of(help_of(program)):
        page += [f"## fhd {name}", "", markdown_of_help(help_of(program, name)), ""]
    return "\n".join(page)
