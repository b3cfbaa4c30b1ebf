"""Reads what fhd says of a scan, and counts."""
import collections
import json
import re

import numpy as np

ABOUT_SIZE = {"outside_fov", "geometry", "density"}  # said of many a scan; causes of a wrong unit or field of view alone
SAME_UNIT = {"": "times", "°": "degrees", "degree": "degrees", "deg": "degrees", "voxel": "voxels", "sample": "samples", "x": "times", "readout": "readouts"}


def words_of(row):
    """All that is said of a cause: the causes of the verdict, and suspicions and warnings but for the verdict's own sentence."""
    if "refused" in row:
        return row["refused"]
    verdict = row["verdict"]
    said = [f"{c['code']}: {c['text']}" for c in causes_of(verdict)]
    if verdict.get("judgement") == "varies":
        said.append(verdict["sentence"])
    said += [f"{m['code']}: {m['text']}" for m in row["messages"] if verdict.get("sentence", "\n") not in m["text"]
             and (m["code"] not in ABOUT_SIZE or "unit" in row["words"])]
    return "; ".join(dict.fromkeys(said))


def causes_of(verdict):
    causes = ([verdict["cause"]] if verdict.get("cause") else []) + list(verdict.get("causes") or [])
    return [c for c in causes if c]


def alarm(row):
    """Whether a planted mistake is seen. A signal said to vary counts, unless it varies in the untouched scan, too."""
    return false_alarm(row) or row["verdict"].get("judgement") == "varies" and not row["contrast"]


def false_alarm(row):
    return "refused" in row or row["verdict"].get("judgement") == "unexplained" or any(
        m["severity"] in ("suspicion", "problem") for m in row["messages"])


def named(row):
    return re.search(row["words"], words_of(row), re.I) is not None


def size_error(row):
    """The relative difference of the size that is told from the planted one; None where either has none in the same unit."""
    if "refused" in row or not row.get("sizes"):
        return None
    best = None
    for cause in causes_of(row["verdict"])[:1]:
        amount, unit = cause.get("amount"), cause.get("unit") or ""
        if amount is None:
            continue
        unit = SAME_UNIT.get(unit, unit)
        for value, planted_unit in row["sizes"]:
            if planted_unit == "Hz of the dwell" and unit == "Hz" and row.get("dwell_s"):
                value, planted_unit = value / row["dwell_s"], "Hz"
            if planted_unit == unit:
                error = abs(abs(amount) - abs(value)) / abs(value)
                best = error if best is None else min(best, error)
    return best


def counts(row):
    """Whether a planted mistake is one that must be seen."""
    return row["mistake"] != "none" and not row["hidden"] and row["change"] > 0.1


def cut(text, length):
    text = text.replace("|", "/").replace("\n", " ")
    return text if len(text) <= length else text[: length - 1] + "…"


def judged(row):
    return "refused" if "refused" in row else row["verdict"].get("judgement", "none")


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else ""


def by_kind(rows, before):
    """One line for each kind of mistake; before: rows of another program, whose shares stand in front of an arrow."""
    earlier = collections.defaultdict(list)
    for row in before:
        earlier[row["mistake"]].append(row)

    def change(of, counted, old):
        now = share(sum(map(of, counted)), len(counted))
        return f"{share(sum(map(of, old)), len(old)) or '?'} → {now}" if old else now

    kinds = collections.OrderedDict()
    for row in rows:
        if row["mistake"] != "none":
            kinds.setdefault(row["mistake"], []).append(row)
    lines = ["| mistake | scans | counted | change of the image | alarm | right cause | size within 15 % | not counted, because |",
             "|---|---|---|---|---|---|---|---|"]
    for kind, of_kind in kinds.items():
        counted, old = ([r for r in some if counts(r)] for some in (of_kind, earlier[kind]))
        sizes = [e for e in map(size_error, counted) if e is not None]
        changes = [100 * r["change"] for r in counted]
        reasons = collections.Counter(r["hidden"] or "changes the image by less than 10 %" for r in of_kind if not counts(r))
        lines.append(f"| {kind} | {len(of_kind)} | {len(counted)} | {f'{min(changes):.0f}-{max(changes):.0f} %' if changes else ''} | "
                     f"{change(alarm, counted, old)} | {change(lambda r: alarm(r) and named(r), counted, old)} | "
                     f"{f'{sum(e <= 0.15 for e in sizes)} of {len(sizes)}' if sizes else ''} | "
                     f"{'; '.join(f'{n}: {why}' for why, n in reasons.items())} |")
    return lines


def by_scan(rows):
    scans = collections.OrderedDict()
    for row in rows:
        scans.setdefault(row["scan"], []).append(row)
    lines = ["| scan | planted | counted | alarm | right cause | false alarm on the untouched scan |", "|---|---|---|---|---|---|"]
    for scan, of_scan in scans.items():
        planted = [r for r in of_scan if r["mistake"] != "none"]
        counted = [r for r in planted if counts(r)]
        good = [r for r in of_scan if r["mistake"] == "none"]
        if planted:
            lines.append(f"| {scan} | {len(planted)} | {len(counted)} | {share(sum(map(alarm, counted)), len(counted))} | "
                         f"{share(sum(alarm(r) and named(r) for r in counted), len(counted))} | "
                         f"{'; '.join(cut(words_of(r) or judged(r), 80) for r in good if false_alarm(r))} |")
    return lines


def row_line(row):
    mark = ""
    if counts(row):
        mark = " MISSED" if not alarm(row) else "" if named(row) else " (other)"
    size = size_error(row)
    return (f"| {row['scan']} | {row['mistake']} | {100 * row['change']:.0f} %{' hidden' if row['hidden'] else ''} | {judged(row)}{mark} | "
            f"{cut(words_of(row), 150)} | {'' if size is None else f'{100 * size:.0f} %'} |")


ROW_HEAD = ["| scan | mistake | change of the image | verdict | what is said | error of the size |", "|---|---|---|---|---|---|"]


def summary(rows):
    counted = [r for r in rows if counts(r)]
    goods = [r for r in rows if r["mistake"] == "none"]
    false = [r for r in goods if false_alarm(r)]
    told = [r for r in goods if not false_alarm(r) and "ordinary" in r["verdict"].get("sentence", "")]
    alarms = [r for r in counted if alarm(r)]
    right = [r for r in alarms if named(r)]
    sizes = [e for e in map(size_error, counted) if e is not None]
    sized = [r for r in counted if r.get("sizes")]
    kinds = {r["mistake"] for r in rows} - {"none"}
    hidden = [r for r in rows if r["hidden"]]
    says = [r for r in hidden if re.search("cannot|unknowns|would not show", r.get("verdict", {}).get("sentence", ""))]
    seconds = [r["seconds"] for r in rows if "seconds" in r]
    return [f"{len(rows) - len(goods)} cases of {len(kinds)} kinds of mistakes on {len({r['scan'] for r in rows if r['mistake'] != 'none'})} scans. "
            f"{len(counted)} change the image by more than 10 % and can be told: {len(alarms)} alarm ({share(len(alarms), len(counted))}), "
            f"{len(right)} with the right cause ({share(len(right), len(counted))}).",
            f"Sizes: {len(sized)} of these have a size; {len(sizes)} are told in its unit, {sum(e <= 0.15 for e in sizes)} within 15 %"
            + (f", median error {100 * float(np.median(sizes)):.0f} %." if sizes else "."),
            f"{len(hidden)} cases cannot be told (the reasons are in the study); in {len(says)} the sentence says that data cannot tell.",
            f"{len(goods)} good scans: {len(false)} false alarms; an ordinary rest is named in {len(told)}.",
            f"Seconds of a reconstruction with its search: median {np.median(seconds):.2f}, largest {max(seconds):.1f}." if seconds else ""]


def tables(rows, before=()):
    missed = [r for r in rows if counts(r) and not alarm(r)]
    other = [r for r in rows if counts(r) and alarm(r) and not named(r)]
    false = [r for r in rows if r["mistake"] == "none" and false_alarm(r)]
    parts = ([["Before:"] + summary(before), ["Now:"]] if before else []) + [summary(rows), ["## By kind of mistake"], by_kind(rows, before), ["## By scan"], by_scan(rows)]
    for title, some in (("Missed", missed), ("Alarm with another cause, or none", other), ("False alarms", false)):
        parts += [[f"## {title} ({len(some)})"], ROW_HEAD + [row_line(r) for r in some] if some else ["none"]]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def all_rows(rows):
    return "\n".join(ROW_HEAD + [row_line(r) for r in rows]) + "\n"


def load(paths):
    rows = {}
    for path in paths:
        with open(path) as file:
            for text in file:
                row = json.loads(text)
                rows[row["scan"], row["mistake"]] = row
    return sorted(rows.values(), key=lambda r: r["number"])
