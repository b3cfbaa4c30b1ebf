"""The reference of commands, from what `fhd COMMAND --help` prints."""

import re
import subprocess


def help_of(program, *command):
    """Return what `fhd COMMAND --help` prints; OSError or CalledProcessError where it does not run."""
    return subprocess.run(
        ["fhd", *command, "--help"], executable=program, check=True, capture_output=True, text=True
    ).stdout


def commands_of(text):
    """The commands that `fhd --help` lists: [(name, what it does)]."""
    listed = text.split("Subcommands:\n", 1)[1]
    return re.findall(r"^  (\w+)\s{2,}(\S.*)$", listed, re.MULTILINE)


def reference(program):
    """The page of all commands."""
    page = ["# Commands and their options", "", "As `fhd COMMAND --help` prints them.", ""]
    for name, _ in commands_of(help_of(program)):
        page += [f"## fhd {name}", "", f"```text\n{help_of(program, name)}```", ""]
    return "\n".join(page)
