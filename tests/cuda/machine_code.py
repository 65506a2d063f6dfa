#!/usr/bin/env python3
"""machine_code.py CUOBJDUMP OBJECT - holds the sm_90 machine code of seqpar's own kernels against what they promise, and prints
a table. Exit code 0: kept; 1: broken.

Every kernel: no spills, no local memory (nor in CUB's over types of ours), at most 40 registers. Those that move accesses of 16 bytes have a loop (the inner one:
the one without another in it) with four loads of 16 bytes before the first store, no division, and at most 12 instructions for
each 16 bytes."""

import re
import subprocess
import sys

MOST_REGISTERS = 40
MOST_INSTRUCTIONS = 12
LOADS_AHEAD = 4

# Allowed more: a pattern of the kernel's name, registers, instructions per 16 bytes, and why.
ALLOWED = [
    (r"^gather_kernel<.*Backward<.*, [2-9], \w+>", 48, None, "an address for each of several levels, and the loads of four chunks"),
]
DIVISION = re.compile(r"^(CALL|MUFU\.RCP|I2F)")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def short(name):
    """The name of a kernel of ours, or of CUB's over types of ours, as a reader knows it; None for those of others."""
    name = re.sub(r"^void ", "", name)
    if not name.startswith("seqpar::detail::"):
        found = re.search(r"(\w+Kernel)<.*?seqpar::detail::(\w+<\d+)", name)
        return f"cub {found[1]} over {found[2]}>" if found else None
    depth = 0
    for end, letter in enumerate(name):  # without the parameters
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0:
            name = name[:end]
            break
    name = re.sub(r"seqpar::(detail::)?|cuda::std::(__\d+::)?", "", name)
    name = re.sub(r"\((Direction)\)0", "to_shard", name)
    name = re.sub(r"\((Direction)\)1", "to_whole", name)
    name = re.sub(r"(\d)ul\b", r"\1", name)
    while True:  # TokenRows and what they read are the same in all
        shorter = re.sub(r"TokenRows<[^<>]*>", "rows", name)
        shorter = re.sub(r"(mdspan|RowReader|extents|default_accessor)<[^<>]*>", r"\1", shorter)
        if shorter == name:
            return name
        name = shorter


def kernels(cuobjdump, path):
    """Name -> registers, bytes of stack, local and shared memory, and instructions: (address, text)."""
    result = {}
    usage = run(cuobjdump, "-res-usage", path)
    for mangled, text in re.findall(r"Function (\S+):\n(.*)", usage):
        numbers = dict(re.findall(r"(REG|STACK|SHARED|LOCAL):(\d+)", text))
        result[mangled] = {key: int(value) for key, value in numbers.items()} | {"code": []}
    current = None
    for line in run(cuobjdump, "-sass", path).splitlines():
        if found := re.search(r"Function : (\S+)", line):
            current = result[found[1]]["code"]
        elif found := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
            current.append((int(found[1], 16), found[2]))
    names = run("c++filt", *result).splitlines()
    return [(short(name), kernel) for name, kernel in zip(names, result.values()) if short(name)]


def operation(text):
    return re.sub(r"^@!?U?P\w+\s+", "", text)


def inner_loops(code):
    """The instructions of each loop that has no other in it."""
    spans = []
    for address, text in code:
        found = re.match(r"BRA(?:\.\w+)* (?:!?U?P\w+, )?0x([0-9a-f]+)", operation(text))
        if found and int(found[1], 16) < address:
            spans.append((int(found[1], 16), address))
    for first, last in spans:
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in spans):
            yield [operation(text) for address, text in code if first <= address <= last]


def wide(text, kind):
    return re.match(rf"{kind}\.E(\.\w+)*\.128", text)


def main_loop(code):
    """Of the loops that load and store 16 bytes at once, the one that moves most."""
    def loads(loop):
        return sum(1 for text in loop if wide(text, "LDG"))
    loops = [loop for loop in inner_loops(code) if loads(loop) and any(wide(text, "STG") for text in loop)]
    return max(loops, key=loads, default=None)


def judge(name, kernel):
    """What is wrong with a kernel, and its line of the table."""
    allowed = next((a for a in ALLOWED if re.search(a[0], name)), (None, None, None, ""))
    most_registers = allowed[1] or MOST_REGISTERS
    most_instructions = allowed[2] or MOST_INSTRUCTIONS
    wrong = []
    if kernel["STACK"] or kernel["LOCAL"]:
        wrong.append(f"local memory: {kernel['STACK']} bytes of stack, {kernel['LOCAL']} of spills")
    if kernel["REG"] > most_registers and not name.startswith("cub "):
        wrong.append(f"{kernel['REG']} registers, more than {most_registers}")
    cost = "-"
    loop = main_loop(kernel["code"])
    moves_wide = any(wide(operation(text), "LDG") for _, text in kernel["code"])
    if name.startswith("cub "):
        loop = None
    elif moves_wide and loop is None:
        wrong.append("no loop with loads and stores of 16 bytes")
    if loop is not None:
        loads = sum(1 for text in loop if wide(text, "LDG"))
        stores = sum(1 for text in loop if wide(text, "STG"))
        first_store = next(i for i, text in enumerate(loop) if wide(text, "STG"))
        ahead = sum(1 for text in loop[:first_store] if wide(text, "LDG"))
        each = len(loop) / max(loads, stores)
        cost = f"{each:.1f}"
        if ahead < LOADS_AHEAD:
            wrong.append(f"only {ahead} loads of 16 bytes before the first store of the loop")
        if divisions := [text.split()[0] for text in loop if DIVISION.match(text)]:
            wrong.append(f"division in the loop: {', '.join(divisions)}")
        if each > most_instructions:
            wrong.append(f"{each:.1f} instructions per 16 bytes, more than {most_instructions}")
    return wrong, f"| `{name}` | {kernel['REG']} | {kernel['SHARED']} | {cost} |"


def main(cuobjdump, path):
    found = kernels(cuobjdump, path)
    if not any(name.startswith("move_kernel") for name, _ in found):
        print(f"{path} holds no kernel of seqpar")
        return 1
    judged = [(name, *judge(name, kernel)) for name, kernel in found]
    print("| kernel | registers | shared memory, bytes | instructions of the loop per 16 bytes |\n| --- | --- | --- | --- |")
    for name, _, row in sorted(judged):
        print(row)
    for name, wrong, _ in judged:
        for what in wrong:
            print(f"WRONG {name}: {what}")
    return 1 if any(wrong for _, wrong, _ in judged) else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
