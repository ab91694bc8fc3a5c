"""The documentation as data: pages, their fenced blocks, quotations and links, and what the sources know by name.

How a block is to be marked stands in CONTRIBUTING.md, "Documentation".
"""
import dataclasses
import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOP_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")


@dataclasses.dataclass
class Block:
    page: str
    line: int  # of the opening fence
    language: str
    marks: tuple  # the other words of the info string
    text: str
    follows: "Block | None" = None  # the block right before this one, with nothing between

    @property
    def place(self):
        return f"{self.page}:{self.line}"


class Page:
    def __init__(self, path, root=REPOSITORY):
        self.path, self.root = Path(path), Path(root)
        self.name = str(self.path.relative_to(self.root))
        self.text = self.path.read_text(encoding="utf-8")
        self.blocks, self.prose = split(self.name, self.text)

    def quotations(self):
        """(line number, text) of each line that is quoted: what the service says."""
        for number, line in enumerate(self.prose, 1):
            if line.startswith("> "):
                yield number, line[2:].strip()

    def numbered_prose(self):
        return enumerate(self.prose, 1)

    def anchors(self):
        return {slug(line.lstrip("#")) for line in self.prose if re.match(r"#{1,6} ", line)}


def split(name, text):
    """Blocks, and all lines with those of blocks emptied, so that numbers stay right."""
    blocks, prose, current, last_end = [], [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"```(.*)$", line)
        if fence and current is None:
            language, *marks = fence[1].split() or [""]
            only_blank = last_end is not None and not any(part.strip() for part in prose[last_end:])
            current = Block(name, number, language, tuple(marks), "", blocks[-1] if only_blank else None)
        elif fence:
            blocks.append(current)
            current, last_end = None, number
        elif current is not None:
            current.text += line + "\n"
        prose.append("" if fence or current is not None else line)
    assert current is None, f"{name}: a block is not closed"
    return blocks, prose


def all_pages():
    found = [REPOSITORY / name for name in TOP_PAGES] + sorted((REPOSITORY / "docs").rglob("*.md"))
    return [Page(path) for path in found + [REPOSITORY / "seccomp" / "README.md"]]


def shown(page, beginning):
    """The block of a page that begins like this, for tests that do as the page says."""
    found = [block for block in Page(REPOSITORY / page).blocks if block.text.startswith(beginning)]
    assert len(found) == 1, f"{page} has {len(found)} blocks that begin with {beginning!r}"
    return found[0]


def slug(heading):
    """The anchor that a heading gets: GitHub's rule."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


# ---- what the sources know


def read(path):
    return (REPOSITORY / path).read_text(encoding="utf-8")


def settings():
    """Full names of all settings, with the ways to give a secret by a file, and of the clients' own."""
    text = read("src/base/config_settings.c")
    entries = re.split(r"(?=\.name = )", text)[1:]
    names = set()
    for entry in entries:
        name = "SANDBOX_" + re.match(r'\.name = "(\w+)"', entry)[1]
        names.add(name)
        if ".secret = true" in entry:
            names.add(name + "_FILE")
    client = re.search(r"config_client_names\[\] = \{(.*?)\};", text, re.S)
    names.update("SANDBOX_" + name for name in re.findall(r'"(\w+)"', client[1]))
    names.add("SANDBOX_CONFIG_FILE")
    return names


def routes():
    """{(method, pattern)}"""
    return set(re.findall(r'\{\s*"(\w+)",\s*"(/[^"]*)",\s*ROUTE_', read("src/api/routes.c")))


def metrics():
    return set(re.findall(r'\{\s*"(sandbox_\w+)",\s*(?:COUNTER|GAUGE|HISTOGRAM)', read("src/api/metrics.c")))


def error_kinds():
    """{(status, type)}"""
    return {(int(status), kind) for status, kind in re.findall(r'\{\s*(\d{3}),\s*"(\w+)",\s*"', read("src/api/http_error.c"))}


def outcomes():
    names = read("src/run/outcome.c").split("outcome_name(", 1)[1].split("};", 1)[0]
    return set(re.findall(r'\[OUTCOME_\w+\]\s*=\s*"(\w+)"', names))


def skip_reasons():
    names = re.findall(r'return "(\w+)";', read("src/run/run_files.c").split("skip_reason_name")[1].split("\n}")[0])
    return set(names + re.findall(r'run_file_write_skipped\([^;]*, "(\w+)", out\)', read("src/api/execute_reply.c")))


# ---- the service's words: string literals of the C sources, joined as the compiler joins them

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|\S', re.S)
_CONVERSION = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j)?[diouxXeEfgGscp]|%%")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'", "0": "\0"}
_MIN_FIXED = 12  # characters that are the same in every use; less could be anything
_LONG = 30  # what a conversion stands for is looked up as well if it is longer


def _unquote(token):
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1], flags=re.S)


def _macros(text):
    """{name: its tokens} of macros that are nothing but strings and other such macros."""
    found = {}
    for name, body in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:\\\n|[^\n])*)", text, re.M):
        tokens = [token for token in _TOKEN.findall(body.replace("\\\n", " ")) if not token.startswith(("/*", "//"))]
        if tokens and all(token.startswith('"') or re.fullmatch(r"\w+", token) for token in tokens):
            found[name] = tokens
    return found


def _strings(text, macros):
    def expand(token, depth=0):
        if token.startswith('"'):
            return _unquote(token)
        if token.startswith("PRI"):
            return "d"
        if depth < 5 and token in macros and any(part.startswith('"') or part in macros for part in macros[token]):
            parts = [expand(part, depth + 1) for part in macros[token]]
            return None if None in parts else "".join(parts)
        if re.fullmatch(r"\d+", macros.get(token, [""])[0]) and depth:
            return None
        return None

    joined = None
    for token in _TOKEN.findall(text):
        if token.startswith(("/*", "//")):
            continue
        part = expand(token)
        if part is not None:
            joined = part if joined is None else joined + part
        elif joined is not None:
            yield joined
            joined = None


def _pattern(literal):
    parts, at = [], 0
    for match in _CONVERSION.finditer(literal):
        parts += [re.escape(literal[at : match.start()]), "%" if match[0] == "%%" else "(.*)"]
        at = match.end()
    return re.compile("".join(parts) + re.escape(literal[at:]), re.S)


def words_of(*names):
    """All literals of these sources that are long enough to mean something, as regular expressions."""
    shared, found = {}, {}
    for path in (REPOSITORY / "src").rglob("*.h"):
        shared.update(_macros(path.read_text(encoding="utf-8")))
    for name in names:
        text = read(name)
        used = re.sub(r"^[ \t]*#[ \t]*define(?:\\\n|[^\n])*", "", text, flags=re.M)  # what a macro says, it says where it is used
        for literal in _strings(used, {**shared, **_macros(text)}):
            if len(_CONVERSION.sub("", literal)) >= _MIN_FIXED:
                found[literal] = _pattern(literal)
    return list(found.values())


def words_of_the_service():
    return words_of(*(str(path.relative_to(REPOSITORY)) for path in sorted((REPOSITORY / "src").rglob("*.[ch]"))))


def is_said(message, words, depth=0):
    """Whether the service can say this: some literal fits, and so do the long texts that fill its conversions."""
    for pattern in words:
        match = pattern.fullmatch(message)
        if match and all(_is_data(part) or (depth < 3 and is_said(part, words, depth + 1)) for part in match.groups()):
            return True
    return False


def _is_data(part):
    """Short, or a list of names."""
    return len(part) <= _LONG or all(re.fullmatch(r"[\w.-]+", item) for item in part.split(", "))
