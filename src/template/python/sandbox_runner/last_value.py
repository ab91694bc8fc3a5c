"""The value of a last expression, without running the snippet in any other way than a script is run.

A script throws the value of an expression statement away: its code ends in "POP_TOP, RETURN_CONST None". Returning the
value instead of throwing it away changes nothing for the snippet, because both end the frame: so the code is compiled
whole, as ever, and every such pair in the module's own code becomes a RETURN_VALUE. Whether the last statement *was* an
expression, or, say, an ``if`` whose last line is one, is only looked at afterwards and only if there is a value.

The pair is that of CPython 3.12. With another version the code stays as it is, and there are no values.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import ast
import dis
import re
import sys

from .guard import no_warnings

_ENABLED = sys.version_info[:2] == (3, 12)
if _ENABLED:
    _POP_TOP, _RETURN_CONST = dis.opmap["POP_TOP"], dis.opmap["RETURN_CONST"]
    _RETURN_VALUE, _EXTENDED_ARG = dis.opmap["RETURN_VALUE"], dis.opmap["EXTENDED_ARG"]

_TAIL_CHARS = 64 << 10  # a last statement that is longer gives no result
_TAIL_ATTEMPTS = 64
_TAIL_WORK = 512 << 10


def return_it(code):
    """``code`` of a module, returning the value of its last statement if that is an expression."""
    if not _ENABLED:
        return code
    old = code.co_code
    pairs = [at for at in _offsets(old, _POP_TOP) if _returns_none(code, old, at + 2)]
    if not pairs:
        return code
    new = bytearray(old)
    for at in pairs:
        new[at] = _RETURN_VALUE
    return code.replace(co_code=bytes(new))


def _offsets(raw: bytes, opcode: int):
    """Where ``opcode`` without an argument stands, followed by what may be a return. Instructions are two bytes."""
    for follower in (_RETURN_CONST, _EXTENDED_ARG):
        pattern = bytes((opcode, 0, follower))
        at = raw.find(pattern)
        while at >= 0:
            if at % 2 == 0:
                yield at
            at = raw.find(pattern, at + 1)


def _returns_none(code, raw: bytes, at: int) -> bool:
    argument = 0
    while raw[at] == _EXTENDED_ARG:
        argument = (argument | raw[at + 1]) << 8
        at += 2
    return raw[at] == _RETURN_CONST and code.co_consts[argument | raw[at + 1]] is None


def to_show(value, source: bytes):
    """What to show of a run whose code returned ``value``; None if its last statement gives nothing to show.

    That is the value if the last statement is an expression that does not end in a semicolon. A constant like ``1 + 1``
    is special: a script has no code for it at all, and what the code returned was left by the statement before.
    """
    if value is None and not _looks_constant(source):
        return None
    found = _last_statement(source)
    if found is None or not isinstance(found[0], ast.Expr) or found[1]:
        return None
    if not all(isinstance(node, _CONSTANT_NODES) for node in ast.walk(found[0])):
        return value
    with no_warnings():
        code = compile(ast.Expression(found[0].value), "<constant>", "eval", 0, True)
    # Only what the compiler has worked out already: else there is code, and the value is its own.
    return code.co_consts[0] if len(code.co_code) <= 4 and code.co_consts else value


_CONSTANT_NODES = (
    ast.Expr,
    ast.Constant,
    ast.Tuple,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)
_CONSTANT_START = re.compile(r"""[0-9"'(.+~-]|[bBrRuU]{1,2}["']|(True|False|not)\b""")


def _looks_constant(source: bytes) -> bool:
    """Cheap: in the last line that is neither empty nor a comment a constant may begin, or a long string end."""
    tail = source[-_TAIL_CHARS:].decode("utf-8", "replace").split("\n")
    for line in reversed(tail):
        line = line.strip()
        if line and not line.startswith("#"):
            parts = (part.lstrip() for part in line.split(";"))
            return any(map(_CONSTANT_START.match, parts)) or line.endswith(('"""', "'''"))
    return False


def _last_statement(source: bytes):
    """(node, followed by a semicolon) of the last statement at the top level, or None.

    Only the end of the source is parsed: from the last line that can begin a statement, and if that is no statement
    (the inside of a long string, an ``else``), from the one before. The compiler has accepted the whole already, so
    this can err only about strings full of quotes; then a value is shown or not shown that would not, or would, be in a
    notebook.
    """
    text = source.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text[-_TAIL_CHARS:].split("\n")
    first = 0 if len(text) <= _TAIL_CHARS else 1
    work = 0
    attempts = 0
    for index in range(len(lines) - 1, first - 1, -1):
        line = lines[index].lstrip("\f")
        if not line or line[0] in " \t#)]}\\":
            continue
        tail = lines[index:]
        attempts += 1
        work += sum(map(len, tail))
        if attempts > _TAIL_ATTEMPTS or work > _TAIL_WORK:
            return None
        try:
            with no_warnings():
                body = compile("\n".join(tail), "<end>", "exec", ast.PyCF_ONLY_AST, True).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return (body[-1], _semicolon_after(tail, body[-1])) if body else None
    return None


def _semicolon_after(lines, node) -> bool:
    rest = lines[node.end_lineno - 1].encode("utf-8", "surrogatepass")[node.end_col_offset :]
    return rest.lstrip().startswith(b";")
