#!/usr/bin/env python3
"""traffic.py PROGRAM SIZES... -- LAUNCHER... - what each operation of bench/gpu.cu loads and stores, beside the least that it can, as
a table in Markdown. LAUNCHER runs a CUDA program and counts its accesses. Exit code 1: a row is below what is to be reached.

The launcher is asked for its counts as the emulator at hand when this was written wants it: by the environment and in the format of
Launcher, below, and nowhere else. One that leaves no such report is named, and nothing is printed."""

import os
import re
import subprocess
import sys
import tempfile

LEAST_EFFICIENCY = 0.95  # of sectors, and of the bytes of token vectors that are to go in accesses of 16 bytes


class Launcher:
    """Runs a program; gives the counts of all kernels that it launched, added up."""

    environment = {"COC_SECTORS": "1", "COC_PROFILE": "0"}
    report_to = "COC_REPORT"

    def __init__(self, command):
        self.command = command

    def run(self, *program):
        return subprocess.run([*self.command, *program], check=True, capture_output=True, text=True).stdout

    def counts(self, *program):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report")
            environment = os.environ | self.environment | {self.report_to: report}
            subprocess.run([*self.command, *program], check=True, env=environment, stdout=subprocess.DEVNULL)
            if not os.path.exists(report):
                sys.exit(f"{self.command[0]} wrote no report of what was loaded and stored: there is nothing to print")
            with open(report, encoding="utf-8") as file:
                text = file.read()
        counts = {"launches": 0, "instructions": 0}
        for way in ("loads", "stores"):
            counts |= {way: 0, f"{way} of 16": 0, f"{way}, sectors": 0}
        for kernel in text.split("\nkernel ")[1:]:
            counts["launches"] += int(re.search(r"launches (\d+)", kernel)[1])
            counts["instructions"] += int(re.search(r"thread_insns (\d+)", kernel)[1])
            for way in ("loads", "stores"):
                widths, size = re.search(rf"global {way} by width: (.*)\((\d+) bytes\)", kernel).groups()
                counts[way] += int(size)
                if found := re.search(r"b128:(\d+)", widths):
                    counts[f"{way} of 16"] += 16 * int(found[1])
                sectors = re.search(rf"{way[:-1]} requests \d+ sectors (\d+)", kernel)
                counts[f"{way}, sectors"] += int(sectors[1])
        return counts


def ratio(a, b):
    return a / b if b else 0.0


def main(program, sizes, command):
    launcher = Launcher(command)
    below = []
    operations = launcher.run(program, *sizes, "--list").splitlines()
    print("| operation | launches | loaded / least | stored / least | sectors, loads | sectors, stores | in accesses of 16 bytes "
          "| instructions per 16 bytes |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for line in operations:
        name, *numbers = line.split("\t")
        loaded, stored, *of_vectors = map(int, numbers)
        got = launcher.counts(program, *sizes, "--once", name)
        moved = got["loads"] + got["stores"]
        of_loads = f'{got["loads"] / loaded:.3f}' if loaded else f'{got["loads"]} bytes / 0'
        efficiency = {way: ratio(got[way], 32 * got[f"{way}, sectors"]) for way in ("loads", "stores")}
        wide = ratio(got["loads of 16"] + got["stores of 16"], moved)
        each = ratio(got["instructions"], max(loaded, stored) / 16)
        print(f'| {name} | {got["launches"]} | {of_loads} | {ratio(got["stores"], stored):.3f} | {efficiency["loads"]:.2f} '
              f'| {efficiency["stores"]:.2f} | {wide:.2f} | {each:.1f} |')
        if min(efficiency.values()) < LEAST_EFFICIENCY and "Summed" not in name:
            below.append(f"of the sectors' bytes: {name}")
        for way, vectors in zip(("loads", "stores"), of_vectors):
            if got[f"{way} of 16"] < LEAST_EFFICIENCY * vectors:
                below.append(f"of the vectors' bytes in {way} of 16 bytes: {name}")
    for what in below:
        print(f"BELOW {LEAST_EFFICIENCY} {what}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    if "--" not in sys.argv[2:-1]:
        sys.exit(__doc__)
    at = sys.argv.index("--")
    try:
        sys.exit(main(sys.argv[1], sys.argv[2:at], sys.argv[at + 1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}\nfailed with exit code {error.returncode}. {error.stderr or ''}")
