"""Code in fences: functions in place of others, and whole files."""

from bot.fixers.rung2_model.edits import EditRules, Reason
from tests.unit.bot.fixers.rung2_model.edits.cases import FIXED, MATHS, SOURCE, Case, fence, swapped

OTHER = "src/other.py"
ADD = "def add(a, b):\n    return a + b\n"
TABS = "class A:\n\tdef f(self):\n\t\t# why\n\t\treturn 1\n\n\tdef g(self):\n\t\treturn 2\n"
DECORATED = "class A:\n    @property\n    def f(self):\n        return 1\n\n    @f.setter\n    def f(self, v):\n        self.v = v\n"
CONSTANT = "LIMIT = 3\n\n\ndef f():\n    return LIMIT\n"
STRINGS = '''class A:
    def f(self):
        """One.

        Two.
        """
        text = """
one
  two
"""
        return text, 1
'''
PADDED = (
    'class A:\n    def f(self):\n        return dedent("""\n            one\n            """), 1\n'
)
NESTED = "def outer():\n    def inner():\n        return 1\n    return inner\n\n\ndef inner():\n    return 2\n"


def edited(old: str, new: str, text: str) -> dict[str, str]:
    """The file with one piece replaced."""
    return swapped(old, new, text)


FUNCTIONS = [
    Case("function: as asked for", fence(ADD), FIXED),
    Case("function: no language", fence(ADD, ""), FIXED),
    Case("function: named above", f"{MATHS}\n{fence(ADD)}", FIXED),
    Case("function: prose around it", f"The sign is wrong:\n\n{fence(ADD)}\nNow it adds.\n", FIXED),
    Case("function: no fence at all", ADD, FIXED),
    Case("function: a fence without an end", f"```python\n{ADD}", FIXED),
    Case("function: a fence without an end, cut off", f"```python\n{ADD}", Reason.MALFORMED, truncated=True),
    Case("function: a fence with an end, cut off behind it", fence(ADD) + "Now", FIXED, truncated=True),
    Case("function: no fence, cut off", ADD, Reason.MALFORMED, truncated=True),
    Case("function: tildes", f"~~~python\n{ADD}~~~\n", FIXED),
    Case("function: Windows line ends in the answer", fence(ADD).replace("\n", "\r\n"), FIXED),
    Case("function: Windows line ends in the file", fence(ADD), {MATHS: FIXED[MATHS].replace("\n", "\r\n")},
         files={MATHS: SOURCE.replace("\n", "\r\n")}),
    Case("function: its own docstring", fence('def add(a, b):\n    """Adds."""\n    return a + b\n'),
         {MATHS: FIXED[MATHS].replace("The sum.", "Adds.")}),
    Case("function: a sample of its use behind it", fence(ADD + "\nprint(add(1, 2))\nassert add(1, 2) == 3\n"), FIXED),
    Case("function: a test behind it", fence(ADD + "\n\ndef test_add():\n    assert add(1, 2) == 3\n"), FIXED),
    Case("function: the old version first", fence('def add(a, b):\n    """The sum."""\n    return a - b\n') + fence(ADD), FIXED),
    Case("function: the old version last", fence(ADD) + fence('def add(a, b):\n    """The sum."""\n    return a - b\n'), FIXED),
    Case("function: two versions, the last one counts", fence("def add(a, b):\n    return a * b\n") + fence(ADD), FIXED),
    Case("function: two functions in one fence", fence(ADD + "\n\ndef twice(a):\n    return 2 * a\n"),
         {MATHS: FIXED[MATHS].replace("a + a", "2 * a")}),
    Case("function: two functions in two fences", fence(ADD) + fence("def twice(a):\n    return 2 * a\n"),
         {MATHS: FIXED[MATHS].replace("a + a", "2 * a")}),
    Case("function: comments around it stay", fence("# repaired\ndef add(a, b):\n    return a + b\n# end\n"), FIXED),
    Case("function: nothing changes", fence("def twice(a):\n    return a + a\n"), Reason.NO_CHANGE),
    Case("function: only a comment changes", fence("def twice(a):\n    return a + a  # twice\n"), Reason.NO_CHANGE),
    Case("function: more arguments", fence("def add(a, b, c=0):\n    return a + b + c\n"),
         {MATHS: SOURCE.replace("def add(a, b):", "def add(a, b, c=0):").replace("a - b", "a + b + c")}),
    Case("function: becomes asynchronous", fence("async def twice(a):\n    return a + a\n"),
         swapped("def twice(a):", "async def twice(a):")),
    Case("function: on one line", fence("def twice(a): return 2 * a\n"),
         swapped("def twice(a):\n    return a + a\n", "def twice(a): return 2 * a\n")),
    Case("function: an import it needs", fence("import math\n\n\ndef twice(a):\n    return math.fsum([a, a])\n"),
         {MATHS: SOURCE.replace("import os\n", "import os\nimport math\n").replace("return a + a", "return math.fsum([a, a])")}),
    Case("function: an import the file has", fence("import os\n\n\ndef twice(a):\n    return os.path.join(a, a)\n"),
         swapped("return a + a", "return os.path.join(a, a)")),
    Case("function: an import it does not need", fence("import math\nfrom typing import List\n" + ADD), FIXED),
    Case("function: an import under another name", fence("from math import fsum as total\n\ndef twice(a):\n    return total([a, a])\n"),
         {MATHS: SOURCE.replace("import os\n", "import os\nfrom math import fsum as total\n").replace("a + a", "total([a, a])")}),
    Case("function: an import in a file without any", fence("import math\ndef f():\n    return math.pi\n"),
         {MATHS: "# note\nimport math\n\n\ndef f():\n    return math.pi\n"}, files={MATHS: "# note\ndef f():\n    return 3\n"}),
    Case("function: an import behind the module's docstring", fence("import math\ndef f():\n    return math.pi\n"),
         {MATHS: '"""Doc."""\n\nimport math\n\ndef f():\n    return math.pi\n'},
         files={MATHS: '"""Doc."""\n\ndef f():\n    return 3\n'}),
    Case("function: an import it forgot", fence("def twice(a):\n    return math.fsum([a, a])\n"), Reason.NAMES),
    Case("function: a helper nobody has", fence(ADD + "\n\ndef helper():\n    return 1\n"), Reason.INCOMPLETE),
    Case("function: a name nobody has", fence("def plus(a, b):\n    return a + b\n"), Reason.INCOMPLETE),
    Case("function: a name nobody has, two files", fence("def plus(a, b):\n    return a + b\n"), Reason.NO_PATH,
         files={MATHS: SOURCE, OTHER: "x = 1\n"}),
    Case("function: in the other of two files", fence("def g():\n    return 2\n"), {OTHER: "def g():\n    return 2\n"},
         files={MATHS: SOURCE, OTHER: "def g():\n    return 1\n"}),
    Case("function: in both of two files", fence(ADD), Reason.AMBIGUOUS, files={MATHS: SOURCE, OTHER: SOURCE}),
    Case("function: in both, one is named", f"{MATHS}\n{fence(ADD)}", FIXED, files={MATHS: SOURCE, OTHER: SOURCE}),
    Case("function: in both, one is named in a sentence", f"The file {MATHS} becomes:\n{fence(ADD)}", FIXED,
         files={MATHS: SOURCE, OTHER: SOURCE}),
    Case("function: in both, one can be edited", fence(ADD), FIXED, files={MATHS: SOURCE, OTHER: SOURCE}, read_only=(OTHER,)),
    Case("function: in a file to be read only", f"{MATHS}\n{fence(ADD)}", Reason.PROTECTED, read_only=(MATHS,)),
    Case("function: for a file that was not sent", f"src/secret.py\n{fence(ADD)}", Reason.NOT_SENT),
    Case("function: code left out", fence("def add(a, b):\n    # ... existing code ...\n    return a + b\n"), Reason.ELIDED),
    Case("function: an ellipsis for code", fence("def add(a, b):\n    ...\n    return a + b\n"), Reason.ELIDED),
    Case("function: cannot be parsed", fence("def add(a, b):\n    return a +\n"), Reason.MALFORMED),
    Case("function: another language", fence(ADD, "text"), Reason.NO_EDIT),
    Case("function: a shell command beside it", fence("pytest -q\n", "bash") + fence(ADD), FIXED),
    Case("function: output beside it", fence("FAILED test_add\n", "") + fence(ADD), FIXED),
    Case("function: a sample alone", fence("print(add(1, 2))\n"), Reason.NO_EDIT),
    Case("function: nested too deeply to be looked at", fence("def add(a, b):\n    return " + "(" * 500 + ")" * 500 + "\n"),
         Reason.MALFORMED),
    Case("function: a file that cannot be parsed", fence("def f():\n    return 1\n"), Reason.INCOMPLETE,
         files={MATHS: "def f():\n    return (\n\ndef g():\n    return 1\n"}),
]  # fmt: skip

METHODS = [
    Case("method: bare, stands once", fence("def get(self):\n    return self.item\n"),
         swapped("        # the item\n        return None\n", "        return self.item\n")),
    Case("method: in its class", fence("class Box:\n    def get(self):\n        # the item\n        return self.item\n"),
         swapped("        # the item\n        return None\n", "        # the item\n        return self.item\n")),
    Case("method: as far in as it stands", fence("    def get(self):\n        # the item\n        return self.item\n"),
         swapped("        # the item\n        return None\n", "        # the item\n        return self.item\n")),
    Case("method: its first line is not as far in", fence("def get(self):\n        # the item\n        return self.item\n"),
         swapped("        # the item\n        return None\n", "        # the item\n        return self.item\n")),
    Case("method: two columns for four", fence("def get(self):\n  if self.item:\n    return self.item\n  return None\n"),
         swapped("        # the item\n        return None\n",
                 "        if self.item:\n            return self.item\n        return None\n")),
    Case("method: lines that go on", fence("def get(self):\n    return (\n        self.item\n        or None\n    )\n"),
         swapped("        # the item\n        return None\n",
                 "        return (\n            self.item\n            or None\n        )\n")),
    Case("method: else, except and comments", fence(
        "def get(self):\n    try:\n        x = 1\n    # hm\n    except ValueError:\n        x = 2\n    else:\n        x = 3\n    return x\n"),
         swapped("        # the item\n        return None\n",
                 "        try:\n            x = 1\n        # hm\n        except ValueError:\n            x = 2\n"
                 "        else:\n            x = 3\n        return x\n")),
    Case("method: the whole class", fence(SOURCE[SOURCE.index("class Box"):].replace("        # the item\n        return None",
                                                                                    "        return self.item")),
         swapped("        # the item\n        return None\n", "        return self.item\n")),
    Case("method: a class in part with a new method", fence("class Box:\n    def pop(self):\n        return 1\n"),
         Reason.INCOMPLETE),
    Case("method: a class in part with a new attribute", fence("class Box:\n    size = 2\n    def get(self):\n        return 1\n"),
         Reason.INCOMPLETE),
    Case("method: a class in part with an attribute it has",
         fence("class Box:\n    size = 1\n\n    def get(self):\n        # the item\n        return self.item\n"),
         swapped("        # the item\n        return None\n", "        # the item\n        return self.item\n")),
    Case("method: and a function of that name", fence("def f(self):\n    return 3\n"),
         {MATHS: "def f():\n    return 1\n\n\nclass A:\n    def f(self):\n        return 3\n"},
         files={MATHS: "def f():\n    return 1\n\n\nclass A:\n    def f(self):\n        return 2\n"}),
    Case("method: a function, and a method of that name", fence("def f():\n    return 3\n"),
         {MATHS: "def f():\n    return 3\n\n\nclass A:\n    def f(self):\n        return 2\n"},
         files={MATHS: "def f():\n    return 1\n\n\nclass A:\n    def f(self):\n        return 2\n"}),
    Case("method: of two classes", fence("def f(self):\n    return 3\n"), Reason.AMBIGUOUS,
         files={MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n"}),
    Case("method: of two classes, an anchor decides", "@@ B.f\n" + fence("def f(self):\n    return 3\n"),
         {MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 3\n"},
         files={MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n"}),
    Case("method: of two classes, the class is said", fence("class B:\n    def f(self):\n        return 3\n"),
         {MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 3\n"},
         files={MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n"}),
    Case("method: of two classes, one is shown", fence("def f(self):\n    return 3\n"),
         {MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 3\n"},
         files={MATHS: "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n"},
         regions={MATHS: ((6, 8),)}),
    Case("method: a property keeps its decorator", fence("def f(self):\n    return self.v\n"), Reason.AMBIGUOUS,
         files={MATHS: DECORATED}),
    Case("method: a property with its decorator", fence("@property\ndef f(self):\n    return self.v\n"),
         edited("        return 1\n", "        return self.v\n", DECORATED), files={MATHS: DECORATED}),
    Case("method: a setter with its decorator", fence("@f.setter\ndef f(self, v):\n    self.v = v + 1\n"),
         edited("self.v = v\n", "self.v = v + 1\n", DECORATED), files={MATHS: DECORATED}),
    Case("method: a decorator that was left out stays", fence("def f(cls):\n    return 2\n"),
         {MATHS: "class A:\n    @classmethod\n    def f(cls):\n        return 2\n"},
         files={MATHS: "class A:\n    @classmethod\n    def f(cls):\n        return 1\n"}),
    Case("method: a decorator that is new", fence("@staticmethod\ndef f(x):\n    return x\n"),
         {MATHS: "class A:\n    @staticmethod\n    def f(x):\n        return x\n"},
         files={MATHS: "class A:\n    def f(x):\n        return x\n"}),
    Case("method: tabs in the file, blanks in the answer", fence("def f(self):\n    if self:\n        return 3\n    return 4\n"),
         {MATHS: TABS.replace("\t\t# why\n\t\treturn 1\n", "\t\tif self:\n\t\t\treturn 3\n\t\treturn 4\n")}, files={MATHS: TABS}),
    Case("method: strings keep their text", fence(
        'def f(self):\n    """One.\n\n    Two.\n    """\n    text = """\none\n  two\n"""\n    return text, 2\n'),
         edited("text, 1", "text, 2", STRINGS), files={MATHS: STRINGS}),
    Case("method: strings that were moved with the code", fence(
        'def f(self):\n    return dedent("""\n        one\n        """), 2\n'), edited(", 1", ", 2", PADDED), files={MATHS: PADDED},
         ),
    Case("method: strings as far in as they stand", fence(
        '    def f(self):\n        return dedent("""\n            one\n            """), 2\n'), edited(", 1", ", 2", PADDED),
         files={MATHS: PADDED}),
    Case("method: nested in a function and not", fence("def inner():\n    return 3\n"),
         edited("    return 2\n", "    return 3\n", NESTED), files={MATHS: NESTED}),
    Case("method: nested in a function, an anchor decides", "@@ outer.inner\n" + fence("def inner():\n    return 3\n"),
         edited("        return 1\n", "        return 3\n", NESTED), files={MATHS: NESTED}),
    Case("method: in a conditional block", fence("def f():\n    return 3\n"),
         {MATHS: "if 1:\n    def f():\n        return 3\n"}, files={MATHS: "if 1:\n    def f():\n        return 1\n"}),
    Case("method: two definitions in one file", fence("def f():\n    return 3\n"), Reason.AMBIGUOUS,
         files={MATHS: "if x:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"}),
]  # fmt: skip

WHOLE = [
    Case("whole: as asked for", f"{MATHS}\n{fence(FIXED[MATHS])}", FIXED),
    Case("whole: with a constant that changes", f"{MATHS}\n{fence(CONSTANT.replace('3', '4'))}",
         {MATHS: CONSTANT.replace("3", "4")}, files={MATHS: CONSTANT}),
    Case("whole: no name and one file", fence(CONSTANT.replace("3", "4")), {MATHS: CONSTANT.replace("3", "4")},
         files={MATHS: CONSTANT}),
    Case("whole: a new helper", f"{MATHS}\n{fence(FIXED[MATHS] + chr(10) * 2 + 'def more():' + chr(10) + '    return 1' + chr(10))}",
         {MATHS: FIXED[MATHS] + "\n\ndef more():\n    return 1\n"}),
    Case("whole: a statement goes", f"{MATHS}\n{fence('LIMIT = 3' + chr(10) + 'def f():' + chr(10) + '    return 3' + chr(10))}",
         {MATHS: "LIMIT = 3\ndef f():\n    return 3\n"}, files={MATHS: "LIMIT = 3\nboom()\ndef f():\n    return 3\n"}),
    Case("whole: a function is missing", f"{MATHS}\n{fence('LIMIT = 9' + chr(10) + ADD)}", Reason.INCOMPLETE),
    Case("whole: the rest is left out", f"{MATHS}\n{fence(FIXED[MATHS].split('class')[0] + '# ... rest of the file' + chr(10))}",
         Reason.ELIDED),
    Case("whole: a file of more than 200 lines", f"{MATHS}\n{fence('X = 2' + chr(10) + 'y = 1' + chr(10) * 2 * 150)}", Reason.TOO_LONG,
         files={MATHS: "X = 1\n" + "y = 1\n" * 250}),
    Case("whole: a file that was shown whole, in two pieces", f"{MATHS}\n{fence(CONSTANT.replace('3', '4'))}",
         {MATHS: CONSTANT.replace("3", "4")}, files={MATHS: CONSTANT}, regions={MATHS: ((1, 2), (3, 5))}),
    Case("whole: a file of which a piece was shown", f"{MATHS}\n{fence(CONSTANT.replace('3', '4'))}", Reason.INCOMPLETE,
         files={MATHS: CONSTANT}, regions={MATHS: ((1, 2),)}),
    Case("whole: a file to be read only", f"{MATHS}\n{fence(CONSTANT.replace('3', '4'))}", Reason.PROTECTED,
         files={MATHS: CONSTANT}, read_only=(MATHS,)),
    Case("whole: a file that was not sent", f"src/secret.py\n{fence(CONSTANT)}", Reason.NOT_SENT),
    Case("whole: a new file, allowed", f"src/new.py\n{fence(CONSTANT)}", {"src/new.py": CONSTANT},
         rules=EditRules(may_create=True)),
    Case("whole: a file that could not be parsed", f"{MATHS}\n{fence('def f():' + chr(10) + '    return 1' + chr(10))}",
         {MATHS: "def f():\n    return 1\n"}, files={MATHS: "def f(:\n    return 1\n"}),
    Case("whole: Windows line ends stay", f"{MATHS}\n{fence(CONSTANT.replace('3', '4'))}",
         {MATHS: CONSTANT.replace("3", "4").replace("\n", "\r\n")}, files={MATHS: CONSTANT.replace("\n", "\r\n")}),
    Case("whole: not Python", f"data.toml\n{fence('[a]' + chr(10) + 'x = 2' + chr(10), 'toml')}", {"data.toml": "[a]\nx = 2\n"},
         files={"data.toml": "[a]\nx = 1\n"}),
    Case("whole: not Python, in a shell's fence", f"data.toml\n{fence('cat data.toml' + chr(10), 'bash')}", Reason.NO_EDIT,
         files={"data.toml": "[a]\nx = 1\n"}),
    Case("whole: not Python, most of it missing", f"data.toml\n{fence('x0 = 2' + chr(10), 'toml')}", Reason.INCOMPLETE,
         files={"data.toml": "".join(f"x{n} = 1\n" for n in range(30))}),
    Case("whole: a new function for a script without any", fence("def helper():\n    return 1\n"), Reason.INCOMPLETE,
         files={MATHS: "print(1)\nprint(2)\nprint(3)\n"}),
    Case("whole: nothing changes", f"{MATHS}\n{fence(SOURCE)}", Reason.NO_CHANGE),
    Case("whole: an empty fence", f"{MATHS}\n{fence('')}", Reason.NO_EDIT),
]  # fmt: skip

CASES = [*FUNCTIONS, *METHODS, *WHOLE]
