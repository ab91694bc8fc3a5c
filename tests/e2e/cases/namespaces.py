"""What a snippet's own namespace is: the one of a script, not of a function or an evaluated string."""
from e2e.cases import case

CASES = [
    case("the main guard runs", """
        def job():
            return "ran"

        if __name__ == "__main__":
            print(job(), __name__)
        """, "google/adk-python #791", stdout="ran __main__\n"),
    case("a top-level function calls itself", """
        def tri(n):
            return 0 if n == 0 else n + tri(n - 1)

        print(tri(30))
        """, "langchain-ai/langchain #5035", stdout="465\n"),
    case("two functions call each other", """
        def even(n): return True if n == 0 else odd(n - 1)
        def odd(n): return False if n == 0 else even(n - 1)
        print(even(10), odd(10))
        """, stdout="True False\n"),
    case("a class names itself in a method", """
        class Node:
            def child(self): return Node()
        print(type(Node().child()) is Node)
        """, stdout="True\n"),
    case("an import is known inside functions", """
        import re
        def words(text):
            return re.findall("[a-z]+", text)
        print(words("ab,cd;ef"))
        """, "langchain-ai/langchain-experimental #16", stdout="['ab', 'cd', 'ef']\n"),
    case("lambdas, comprehensions and generators see top-level names", """
        import math
        factor = 3
        print([math.floor(factor * x) for x in (0.5, 1)], list(map(lambda v: v * factor, [1, 2])), sum(factor for _ in range(2)))
        """, stdout="[1, 3] [3, 6] 6\n"),
    case("global and nonlocal statements", """
        count = 0
        def up():
            global count
            count += 1
            inner = 0
            def deeper():
                nonlocal inner
                inner += 1
            deeper()
            return inner
        print(up(), count)
        """, stdout="1 1\n"),
    case("locals and globals are one at the top level", "x = 5\nprint(locals() is globals(), globals()['x'])", stdout="True 5\n"),
    case("walrus and star targets at the top level", "if (n := 3) > 2:\n    first, *rest = range(n)\nprint(n, first, rest)",
         stdout="3 0 [1, 2]\n"),
    case("a future import stays first", '''
        """doc line"""
        from __future__ import annotations

        def f(x: Missing) -> Other:
            return f.__annotations__["x"]

        print(__doc__, f(1))
        ''', "DMOJ/judge-server #22, OpenC3/cosmos #1406", stdout="doc line Missing\n"),
    case("a future import after comments and blank lines", "\n# comment\n\nfrom __future__ import annotations\nprint(1)", stdout="1\n"),
    case("a future import that comes too late is the user's error", "x = 1\nfrom __future__ import annotations",
         exit_code=1, stderr_has=["line 2", "from __future__ imports must occur at the beginning"]),
    case("no special name for a result", "result = 5", "crewAIInc/crewAI-tools #146, #383", stdout="", results=[]),
    case("a name called result is an ordinary one", "result = 5\nprint('seen')", stdout="seen\n"),
    case("names of the runner's are not in the way", """
        source = code = runner = run = main = sys = os = frame = claim = stdin = 1
        print(sorted(name for name in globals() if not name.startswith("__")))
        """, stdout="['claim', 'code', 'frame', 'main', 'os', 'run', 'runner', 'source', 'stdin', 'sys']\n"),
    case("builtins may be hidden by the user", "print_ = print\nprint = len = open = str = Exception = None\nprint_('ok')",
         stdout="ok\n"),
    case("builtins may even be broken for good", """
        import builtins
        builtins.print("ok")
        builtins.open = builtins.len = builtins.isinstance = builtins.Exception = builtins.__import__ = None
        1 / 0
        """, exit_code=1, stdout="ok\n", stderr_end="ZeroDivisionError: division by zero\n"),
    case("type hints, dataclasses and enums", """
        from __future__ import annotations
        from dataclasses import dataclass, field, asdict
        from enum import Enum
        from typing import NamedTuple, get_type_hints
        class Color(Enum):
            RED = 1
        class Pair(NamedTuple):
            a: int
        @dataclass
        class P:
            x: int
            tags: list[str] = field(default_factory=list)
        print(P(1), asdict(P(2, ["a"])), Color.RED.name, Pair(3), get_type_hints(P)["x"])
        """, "huggingface/smolagents #1797, open-webui/pipelines #289",
         stdout="P(x=1, tags=[]) {'x': 2, 'tags': ['a']} RED Pair(a=3) <class 'int'>\n"),
    case("the source of a function can be had", "import inspect\ndef area(r):\n    return 3 * r * r\nprint(inspect.getsource(area), end='')",
         "bespokelabsai/curator #115, xonsh/xonsh #1939", stdout="def area(r):\n    return 3 * r * r\n"),
    case("the source of a lambda and of a nested class", """
        import inspect
        double = lambda x: x * 2
        def f():
            class Inner:
                pass
            return Inner
        print(inspect.getsource(double), inspect.getsourcelines(f)[1])
        """, stdout="double = lambda x: x * 2\n 3\n"),
    case("blank lines inside blocks and none after them", """
        def f():
            a = 1

            b = 2
            return a + b
        print(f())
        if True:
            print("done")
        """, "posit-dev/mcp-repl #165", stdout="3\ndone\n"),
    case("asyncio.run works, there is no loop around the snippet", """
        import asyncio
        async def main(n):
            await asyncio.sleep(0)
            return n * 2
        print(asyncio.run(main(4)), asyncio.run(main(5)))
        """, "jupyter/notebook #4312, spyder-ide/qtconsole #377", stdout="8 10\n"),
    case("an own event loop", """
        import asyncio
        loop = asyncio.new_event_loop()
        print(loop.run_until_complete(asyncio.sleep(0, "slept")))
        loop.close()
        """, stdout="slept\n"),
    case("prints before a last expression are kept", "print('a')\nprint('b')\n1 + 1", "langchain-ai/langchain #2780",
         stdout="a\nb\n", results=["2"]),
    case("logging goes to standard error once", """
        import logging
        logging.basicConfig(level=logging.INFO)
        logging.info("one")
        """, "ChemBioHTP/EnzyHTP #126", stdout="", stderr="INFO:root:one\n"),
]
