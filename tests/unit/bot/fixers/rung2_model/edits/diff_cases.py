"""The apply_patch envelope and unified diffs: headers, hunks, ends, and what neither may do."""

from bot.fixers.rung2_model.edits import EditRules, Reason
from tests.unit.bot.fixers.rung2_model.edits.cases import FIXED, MATHS, SOURCE, Case, swapped

OTHER = "src/other.py"
CREATE = EditRules(may_create=True)


def patch(*body: str, end: bool = True) -> str:
    """An envelope around lines."""
    return "\n".join(["*** Begin Patch", *body, *(["*** End Patch"] if end else []), ""])


def update(*body: str, path: str = MATHS) -> str:
    """An envelope that updates one file."""
    return patch(f"*** Update File: {path}", *body)


def diff(*body: str, old: str = f"a/{MATHS}", new: str = f"b/{MATHS}") -> str:
    """A unified diff of one file."""
    return "\n".join([f"--- {old}", f"+++ {new}", *body, ""])


HUNK = ("-    return a - b", "+    return a + b")
GET = swapped("        # the item\n        return None\n", "        # the item\n        return 1\n")

ENVELOPE = [
    Case("envelope: one hunk", update("@@", *HUNK), FIXED),
    Case("envelope: no heading at all", update(*HUNK), FIXED),
    Case("envelope: context", update("@@ def add(a, b):", '     """The sum."""', *HUNK, " ", " "), FIXED),
    Case("envelope: blank context without its blank", update("@@", *HUNK, "", "", " def twice(a):"), FIXED),
    Case("envelope: in a fence", f"```\n{update('@@', *HUNK)}```\n", FIXED),
    Case("envelope: in a shell command", f"apply_patch <<'EOF'\n{update('@@', *HUNK)}EOF\n", FIXED),
    Case("envelope: without its first line", update("@@", *HUNK).split("\n", 1)[1], FIXED),
    Case("envelope: without its last line", patch(f"*** Update File: {MATHS}", "@@", *HUNK, end=False), FIXED),
    Case("envelope: without its last line, cut off", patch(f"*** Update File: {MATHS}", "@@", *HUNK, end=False),
         Reason.MALFORMED, truncated=True),
    Case("envelope: whole, then cut off", update("@@", *HUNK) + "This ch", FIXED, truncated=True),
    Case("envelope: end of file", update("@@", "         self.item = item", "-        return None", "+        return item",
                                         "*** End of File"),
         swapped("        self.item = item\n        return None\n", "        self.item = item\n        return item\n")),
    Case("envelope: a heading decides", update("@@ def get(self):", "-        return None", "+        return 1"), GET),
    Case("envelope: headings of class and method decide",
         update("@@ class Box:", "@@     def get(self):", "-        return None", "+        return 1"), GET),
    Case("envelope: no heading, two places", update("@@", "-        return None", "+        return 1"), Reason.AMBIGUOUS),
    Case("envelope: a heading of another place", update("@@ class Box:", *HUNK), Reason.NOT_FOUND),
    Case("envelope: a heading that is a line", update("@@         # the item", "-        return None", "+        return 1"),
         Reason.AMBIGUOUS),
    Case("envelope: a line as heading, one place behind it",
         update("@@     def put(self, item):", "-        return None", "+        return item"),
         swapped("        self.item = item\n        return None\n", "        self.item = item\n        return item\n")),
    Case("envelope: two hunks", update("@@", *HUNK, "@@", "-    return a + a", "+    return 2 * a"),
         {MATHS: FIXED[MATHS].replace("a + a", "2 * a")}),
    Case("envelope: two files", patch(f"*** Update File: {MATHS}", "@@", *HUNK, f"*** Update File: {OTHER}", "@@", "-x = 1",
                                      "+x = 2"),
         FIXED | {OTHER: "x = 2\n"}, files={MATHS: SOURCE, OTHER: "x = 1\n"}),
    Case("envelope: a hunk of additions only", update("@@ def add(a, b):", "+    c = 1"), Reason.EMPTY_SEARCH),
    Case("envelope: a line without its sign", update("@@", "return a - b", "+    return a + b"), Reason.MALFORMED),
    Case("envelope: no hunk", update(), Reason.MALFORMED),
    Case("envelope: a deletion", patch(f"*** Delete File: {MATHS}"), Reason.DELETES),
    Case("envelope: a move", patch(f"*** Update File: {MATHS}", "*** Move to: src/x.py", "@@", *HUNK), Reason.MALFORMED),
    Case("envelope: an edit and a deletion", patch(f"*** Update File: {MATHS}", "@@", *HUNK, "*** Delete File: README"),
         Reason.DELETES),
    Case("envelope: a new file, not allowed", patch("*** Add File: src/new.py", "+x = 1"), Reason.NO_CREATION),
    Case("envelope: a new file, allowed", patch("*** Add File: src/new.py", "+x = 1", "+", "+y = 2"),
         {"src/new.py": "x = 1\n\ny = 2\n"}, rules=CREATE),
    Case("envelope: a new file with a line that is not new", patch("*** Add File: src/new.py", "x = 1"), Reason.MALFORMED,
         rules=CREATE),
    Case("envelope: a new file that is there", patch(f"*** Add File: {MATHS}", "+x = 1"), Reason.EXISTS, rules=CREATE),
    Case("envelope: a file that was not sent", update("@@", *HUNK, path="src/secret.py"), Reason.NOT_SENT),
    Case("envelope: a workflow", patch("*** Add File: .github/workflows/x.yml", "+on: push"), Reason.PROTECTED, rules=CREATE),
    Case("envelope: fewer columns", update("@@", "-return a - b", "+return a + b"), FIXED),
    Case("envelope: Windows line ends in the file", update("@@", *HUNK), {MATHS: FIXED[MATHS].replace("\n", "\r\n")},
         files={MATHS: SOURCE.replace("\n", "\r\n")}),
]  # fmt: skip

UNIFIED = [
    Case("diff: as git writes it",
         f"diff --git a/{MATHS} b/{MATHS}\nindex 1234567..89abcde 100644\n"
         + diff("@@ -7,4 +7,4 @@ def add(a, b):", '     """The sum."""', *HUNK, " ", " "), FIXED),
    Case("diff: in a fence", f"```diff\n{diff('@@ -9 +9 @@', *HUNK)}```\n", FIXED),
    Case("diff: numbers that are wrong", diff("@@ -900,7 +3,1 @@", *HUNK), FIXED),
    Case("diff: no numbers", diff("@@", *HUNK), FIXED),
    Case("diff: no prefixes", diff("@@ -9 +9 @@", *HUNK, old=MATHS, new=MATHS), FIXED),
    Case("diff: times behind the names", diff("@@ -9 +9 @@", *HUNK, old=f"a/{MATHS}\t2026", new=f"b/{MATHS}\t2026"), FIXED),
    Case("diff: a folder called a", diff("@@", *HUNK, old="a/m.py", new="a/m.py"), swapped(
        "    return a - b\n", "    return a + b\n", path="a/m.py"), files={"a/m.py": SOURCE}),
    Case("diff: no header, named above", f"{MATHS}\n```diff\n@@ -9 +9 @@\n" + "\n".join(HUNK) + "\n```\n", FIXED),
    Case("diff: no header, one file", "```diff\n" + "\n".join(HUNK) + "\n```\n", FIXED),
    Case("diff: no header, two files, one has the text", "```diff\n" + "\n".join(HUNK) + "\n```\n", FIXED,
         files={OTHER: "x = 1\n", MATHS: SOURCE}),
    Case("diff: prose behind it", diff("@@ -9 +9 @@", *HUNK) + "\nThis adds instead.\nAll good.\n", FIXED),
    Case("diff: a list behind it", diff("@@ -9 +9 @@", *HUNK) + "\nWhat I did:\n- This adds instead.\n", FIXED),
    Case("diff: a line without its sign in a fence", "```diff\n" + diff("@@", "return a - b", "+    return a + b") + "```\n",
         Reason.MALFORMED),
    Case("diff: a line without its sign, more changes behind it",
         diff("@@", *HUNK, "", "def twice(a):", "-    return a + a", "+    return 2 * a"), Reason.MALFORMED),
    Case("diff: two hunks", diff("@@ -9 +9 @@", *HUNK, "@@ -13 +13 @@ def twice(a):", "-    return a + a", "+    return 2 * a"),
         {MATHS: FIXED[MATHS].replace("a + a", "2 * a")}),
    Case("diff: two files", diff("@@", *HUNK) + diff("@@", "-x = 1", "+x = 2", old=f"a/{OTHER}", new=f"b/{OTHER}"),
         FIXED | {OTHER: "x = 2\n"}, files={MATHS: SOURCE, OTHER: "x = 1\n"}),
    Case("diff: two files as git writes them",
         f"diff --git a/{MATHS} b/{MATHS}\n" + diff("@@", *HUNK) + f"diff --git a/{OTHER} b/{OTHER}\n"
         + diff("@@", "-x = 1", "+x = 2", old=f"a/{OTHER}", new=f"b/{OTHER}"),
         FIXED | {OTHER: "x = 2\n"}, files={MATHS: SOURCE, OTHER: "x = 1\n"}),
    Case("diff: two fences", "```diff\n" + diff("@@", *HUNK) + "```\nand\n```diff\n"
         + diff("@@", "-    return a + a", "+    return 2 * a") + "```\n", {MATHS: FIXED[MATHS].replace("a + a", "2 * a")}),
    Case("diff: a heading decides among several", diff("@@ -1,2 +1,2 @@ def get(self):", "-        return None",
                                                      "+        return 1"), GET),
    Case("diff: a heading that is wrong harms nothing", diff("@@ -1,2 +1,2 @@ class Box:", *HUNK), FIXED),
    Case("diff: no newline at the end", diff("@@ -1 +1 @@", "-x = 1", "\\ No newline at end of file", "+x = 2",
                                             "\\ No newline at end of file"), {MATHS: "x = 2"}, files={MATHS: "x = 1"}),
    Case("diff: additions only", diff("@@ -9,0 +10 @@", "+    c = 1"), Reason.EMPTY_SEARCH),
    Case("diff: two places", diff("@@ -25 +25 @@", "-        return None", "+        return 1"), Reason.AMBIGUOUS),
    Case("diff: not there", diff("@@ -9 +9 @@", "-    return a * b", "+    return a + b"), Reason.NOT_FOUND),
    Case("diff: cut off", diff("@@ -9 +9 @@", *HUNK), Reason.MALFORMED, truncated=True),
    Case("diff: cut off in a fence", "```diff\n" + diff("@@ -9 +9 @@", *HUNK), Reason.MALFORMED, truncated=True),
    Case("diff: cut off behind its fence", "```diff\n" + diff("@@ -9 +9 @@", *HUNK) + "```\nThis", FIXED, truncated=True),
    Case("diff: no hunk", diff(), Reason.MALFORMED),
    Case("diff: only context", diff("@@ -9 +9 @@", "     return a - b"), Reason.MALFORMED),
    Case("diff: a deletion", diff("@@ -1 +0,0 @@", "-x = 1", new="/dev/null"), Reason.DELETES),
    Case("diff: a deletion as git writes it", f"diff --git a/{MATHS} b/{MATHS}\ndeleted file mode 100644\n"
         + diff("@@ -1 +0,0 @@", "-x = 1", new="/dev/null"), Reason.DELETES),
    Case("diff: a renaming", diff("@@", *HUNK, new="b/src/x.py"), Reason.DELETES),
    Case("diff: a renaming as git writes it", f"diff --git a/{MATHS} b/src/x.py\nrename from {MATHS}\nrename to src/x.py\n"
         + diff("@@", *HUNK), Reason.DELETES),
    Case("diff: a change of mode", f"diff --git a/{MATHS} b/{MATHS}\nold mode 100644\nnew mode 100755\n" + diff("@@", *HUNK),
         Reason.DELETES),
    Case("diff: a new file, not allowed", diff("@@ -0,0 +1 @@", "+x = 1", old="/dev/null", new="b/src/new.py"),
         Reason.NO_CREATION),
    Case("diff: a new file, allowed", diff("@@ -0,0 +1 @@", "+x = 1", old="/dev/null", new="b/src/new.py"),
         {"src/new.py": "x = 1\n"}, rules=CREATE),
    Case("diff: a file that was not sent", diff("@@", *HUNK, old="a/src/secret.py", new="b/src/secret.py"), Reason.NOT_SENT),
    Case("diff: a file above the checkout", diff("@@", *HUNK, old="a/../x.py", new="b/../x.py"), Reason.NOT_SENT),
    Case("diff: a removed line that looks like a header",
         diff("@@ -1,2 +1,2 @@", "--- x", "-y = 1", "+y = 2"), {MATHS: "y = 2\n"}, files={MATHS: "-- x\ny = 1\n"},
         ),
    Case("diff: tabs in the file", diff("@@", "-\treturn 1", "+\treturn 2"), {MATHS: "def f():\n\treturn 2\n"},
         files={MATHS: "def f():\n\treturn 1\n"}),
    Case("diff: an echo of the change that turned it red",
         diff("@@", "-    return a + b", "+    return a - b"), Reason.NOT_FOUND),
]  # fmt: skip

CASES = [*ENVELOPE, *UNIFIED]
