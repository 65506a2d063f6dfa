#!/usr/bin/env python3
"""machine_code.py CUOBJDUMP OBJECT... - holds the sm_90 machine code of seqpar's own kernels against what they promise, and prints
a table. Exit code 0: kept; 1: broken.

Every kernel: no spills, no local memory (nor in CUB's over types of ours), at most 40 registers. Those that move accesses of 16
bytes (but those that sum, whose inner loop stores nothing) have a loop (an inner one: without another in it) of four loads and
more; each such loop has four of them before the first store, no division, and at most 12 instructions for each 16 bytes that it
loads or stores, whichever is more. Between element types that differ, accesses of the wider are of 16 bytes, and those of the
narrower of as many elements."""

import re
import subprocess
import sys

MOST_REGISTERS = 40
MOST_INSTRUCTIONS = 12
LOADS_AHEAD = 4

# Allowed more: a pattern of the kernel's name, registers, instructions per 16 bytes, bytes of local memory, and why. All that fit count.
ALLOWED = [
    (r"^gather_kernel<.*Backward<.*, [2-9], \w+>", 48, None, 0,
     "an address for each of several levels, and the loads of four chunks"),
    (r"^gather_kernel<4, rows, (Forward|AddRows)<bf16, float, ", None, 38, 0,
     "an f32 is rounded to bf16 in nine instructions, since a device's own would lose the payload of a NaN; memory is slower"),
    (r"^gather_kernel<4, rows, Backward<bf16, bf16, float, .*, Add>", None, 15, 0,
     "four bf16 for each 16 bytes are widened and added one by one"),
    (r"^gather_kernel<.*Backward<.*, [2-9], Add>", 54, None, 0, "and what is there, to be added to"),
    (r"^gather_kernel<.*(Backward<.*, 1, Add>|AddRows<.*, [2-9]>)", 48, None, 0, "the loads of two chunks and what they are added to"),
    (r"^move_kernel<to_shard, MoveGroup<Padded<", 48, None, 0, "real and padded offsets, and the fill"),
]
DIVISION = re.compile(r"^(CALL|MUFU\.RCP|I2F)")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def short(name):
    """The name of a kernel of ours, or of CUB's over types of ours, as a reader knows it; None for those of others."""
    name = re.sub(r"^void ", "", name)
    if not name.startswith("seqpar::detail::"):
        found = re.search(r"(\w+Kernel)<.*?seqpar::detail::(\w+)(<\d+)?", name)
        return f"cub {found[1]} over {found[2]}{found[3] + '>' if found[3] else ''}" if found else None
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
    name = re.sub(r"ShortFloat<unsigned short, 10, 5, true>", "f16", name)
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


def access(text, kind):
    """The bytes of a global load (LDG) or store (STG); 0 for all else."""
    found = re.match(rf"{kind}\.E((?:\.\w+)*)", text)
    sizes = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
    return next((sizes[part] for part in found[1].split(".") if part in sizes), 4) if found else 0


def main_loops(code):
    """The loops of LOADS_AHEAD loads and more that load or store 16 bytes at once, and store."""
    for loop in inner_loops(code):
        loads = [size for text in loop if (size := access(text, "LDG"))]
        stores = [size for text in loop if (size := access(text, "STG"))]
        if stores and len(loads) >= LOADS_AHEAD and max(loads + stores) == 16:
            yield loop


def judge(name, kernel):
    """What is wrong with a kernel, and its line of the table."""
    allowed = [entry for entry in ALLOWED if re.search(entry[0], name)]
    most_registers = max([entry[1] for entry in allowed if entry[1]], default=MOST_REGISTERS)
    most_instructions = max([entry[2] for entry in allowed if entry[2]], default=MOST_INSTRUCTIONS)
    most_local = max([entry[3] for entry in allowed], default=0)
    wrong = []
    if kernel["STACK"] > most_local or kernel["LOCAL"]:
        wrong.append(f"local memory: {kernel['STACK']} bytes of stack, {kernel['LOCAL']} of spills")
    if kernel["REG"] > most_registers and not name.startswith("cub "):
        wrong.append(f"{kernel['REG']} registers, more than {most_registers}")
    costs = []
    moves_wide = any(access(operation(text), "LDG") == 16 for _, text in kernel["code"])
    loops = [] if name.startswith("cub ") else list(main_loops(kernel["code"]))
    if moves_wide and not loops and not name.startswith(("cub ", "index_kernel", "sum_kernel")):
        wrong.append(f"no loop with {LOADS_AHEAD} loads, and loads or stores of 16 bytes")
    for loop in loops:
        moved = {kind: sum(access(text, kind) for text in loop) for kind in ("LDG", "STG")}
        first_store = next(i for i, text in enumerate(loop) if access(text, "STG"))
        ahead = sum(1 for text in loop[:first_store] if access(text, "LDG"))
        costs.append(len(loop) * 16 / max(moved.values()))
        if ahead < LOADS_AHEAD:
            wrong.append(f"only {ahead} loads before the first store of a loop")
        if divisions := [text.split()[0] for text in loop if DIVISION.match(text)]:
            wrong.append(f"division in a loop: {', '.join(divisions)}")
        if costs[-1] > most_instructions:
            wrong.append(f"{costs[-1]:.1f} instructions per 16 bytes, more than {most_instructions}")
    cost = f"{max(costs):.1f}" if costs else "-"
    return wrong, f"| `{name}` | {kernel['REG']} | {kernel['SHARED']} | {cost} |"


def main(cuobjdump, *paths):
    found = {name: kernel for path in paths for name, kernel in kernels(cuobjdump, path)}.items()
    if not any(name.startswith("move_kernel") for name, _ in found):
        print(f"{', '.join(paths)}: no kernel of seqpar")
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
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
