"""Parse CEL source text into a syntax tree.

Promises: the grammar of the CEL specification, with optional syntax (``a.?b``, ``a[?b]``,
``[?a]``) and the macros of Kubernetes. A syntax error has its place in the source.

Does not promise: message construction (``Type{field: value}``). Kubernetes has no message types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from clientgo.testcluster.cel.errors import CelCompileError
from clientgo.testcluster.cel.syntax.lexer import Token, TokenKind, tokenize
from clientgo.testcluster.cel.syntax.macros import expand_macro
from clientgo.testcluster.cel.syntax.nodes import (
    Call,
    Conditional,
    Element,
    Entry,
    Field,
    Identifier,
    Index,
    ListLiteral,
    Literal,
    Logical,
    MapLiteral,
    Node,
    ObjectLiteral,
    Select,
)
from clientgo.testcluster.cel.types import BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT
from clientgo.testcluster.cel.values import INT_RANGE

_RELATIONS = ("<", "<=", ">", ">=", "==", "!=", "in")
_CONSTANTS = {"true": (True, BOOL), "false": (False, BOOL), "null": (None, NULL)}
_LITERALS = {
    TokenKind.INT: INT,
    TokenKind.UINT: UINT,
    TokenKind.FLOAT: DOUBLE,
    TokenKind.STRING: STRING,
    TokenKind.BYTES: BYTES,
}
_RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop"}
    | {"package", "namespace", "return", "var", "void", "while"}
)
_OPERAND_EXPECTED = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


_LONGEST: Final = 100_000
"""Characters of an expression, as in cel-go."""


def parse(source: str) -> Node:
    """Return the syntax tree of an expression.

    Raises:
        CelCompileError: it is malformed, too long, or nested too deeply.
    """
    if len(source) > _LONGEST:
        problem = f"expression code point size exceeds limit: size: {len(source)}, limit {_LONGEST}"
        raise CelCompileError(problem, source, 0)
    try:
        return _Parser(source).parse()
    except RecursionError:
        raise CelCompileError("expression recursion limit exceeded", source, 0) from None


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = tokenize(source)
        self._position = 0

    def parse(self) -> Node:
        expression = self._expression()
        if self._token.kind is not TokenKind.END:
            raise self._unexpected("<EOF>")
        return expression

    @property
    def _token(self) -> Token:
        return self._tokens[self._position]

    def _next(self) -> Token:
        token = self._token
        self._position += 1
        return token

    def _at(self, *texts: str) -> bool:
        token = self._token
        return token.kind in (TokenKind.SYMBOL, TokenKind.NAME) and token.value in texts

    def _accept(self, *texts: str) -> Token | None:
        return self._next() if self._at(*texts) else None

    def _expect(self, text: str) -> Token:
        if not self._at(text):
            raise self._unexpected(f"'{text}'")
        return self._next()

    def _unexpected(self, expected: str) -> CelCompileError:
        token = self._token
        problem = f"Syntax error: mismatched input '{token.text}' expecting {expected}"
        return CelCompileError(problem, self._source, token.offset)

    def _expression(self) -> Node:
        condition = self._or()
        if question := self._accept("?"):
            chosen = self._or()
            self._expect(":")
            condition = Conditional(question.offset, condition, chosen, self._expression())
        return condition

    def _or(self) -> Node:
        left = self._and()
        while operator := self._accept("||"):
            left = Logical(operator.offset, False, left, self._and())
        return left

    def _and(self) -> Node:
        left = self._relation()
        while operator := self._accept("&&"):
            left = Logical(operator.offset, True, left, self._relation())
        return left

    def _relation(self) -> Node:
        left = self._sum()
        while operator := self._accept(*_RELATIONS):
            name = "@in" if operator.value == "in" else f"_{operator.value}_"
            left = Call(operator.offset, name, (left, self._sum()))
        return left

    def _sum(self) -> Node:
        left = self._product()
        while operator := self._accept("+", "-"):
            left = Call(operator.offset, f"_{operator.value}_", (left, self._product()))
        return left

    def _product(self) -> Node:
        left = self._unary()
        while operator := self._accept("*", "/", "%"):
            left = Call(operator.offset, f"_{operator.value}_", (left, self._unary()))
        return left

    def _unary(self) -> Node:
        operator = self._accept("!", "-")
        if operator is None:
            return self._member()
        if operator.value == "-" and self._token.kind in (TokenKind.INT, TokenKind.FLOAT):
            return self._member(operator)
        repeated = 1
        while self._accept(operator.value):
            repeated += 1
        operand = self._member()
        if repeated % 2 == 0:
            return operand
        name = "!_" if operator.value == "!" else "-_"
        return Call(operator.offset, name, (operand,))

    def _member(self, minus: Token | None = None) -> Node:
        operand = self._primary(minus)
        while True:
            if dot := self._accept("."):
                optional = self._accept("?") is not None
                operand = self._selected(operand, dot, optional=optional)
            elif bracket := self._accept("["):
                optional = self._accept("?") is not None
                operand = Index(bracket.offset, operand, self._expression(), optional)
                self._expect("]")
            elif self._at("{") and (type_name := _dotted_name(operand)):
                operand = self._object(self._next().offset, type_name)
            else:
                return operand

    def _selected(self, operand: Node, dot: Token, *, optional: bool) -> Node:
        name = self._next()
        is_name = name.kind is TokenKind.NAME and name.value not in (*_CONSTANTS, "in")
        if not is_name and name.kind is not TokenKind.QUOTED_NAME:
            self._position -= 1
            raise self._unexpected("IDENTIFIER")
        if optional or name.kind is TokenKind.QUOTED_NAME or not self._at("("):
            return Select(dot.offset, operand, name.value, optional)
        parenthesis = self._next()
        arguments = self._arguments(")")
        return self._call(parenthesis.offset, name.value, arguments, operand)

    def _call(
        self, offset: int, function: str, arguments: tuple[Node, ...], target: Node | None
    ) -> Node:
        expanded = expand_macro(self._source, offset, function, arguments, target)
        return expanded if expanded is not None else Call(offset, function, arguments, target)

    def _arguments(self, closing: str) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while not self._at(closing):
            arguments.append(self._expression())
            if self._accept(",") is None:
                break
        self._expect(closing)
        return tuple(arguments)

    def _primary(self, minus: Token | None = None) -> Node:
        token = self._next()
        if token.kind in _LITERALS:
            return self._literal(token, minus)
        if token.kind is TokenKind.NAME and token.value != "in":
            return self._name(token)
        match token.value if token.kind is TokenKind.SYMBOL else None:
            case "(":
                inner = self._expression()
                self._expect(")")
                return inner
            case "[":
                return self._list(token.offset)
            case "{":
                return self._map(token.offset)
            case "." if self._token.kind is TokenKind.NAME:
                name = self._primary()
                return replace(name, absolute=True) if isinstance(name, Identifier) else name
        self._position -= 1
        raise self._unexpected(_OPERAND_EXPECTED)

    def _literal(self, token: Token, minus: Token | None) -> Node:
        value = token.value if minus is None else -token.value
        if token.kind is TokenKind.INT and value not in INT_RANGE:
            raise CelCompileError(f"invalid int literal: {value}", self._source, token.offset)
        return Literal((minus or token).offset, value, _LITERALS[token.kind])

    def _name(self, token: Token) -> Node:
        if token.value in _CONSTANTS:
            value, cel_type = _CONSTANTS[token.value]
            return Literal(token.offset, value, cel_type)
        if parenthesis := self._accept("("):
            return self._call(parenthesis.offset, token.value, self._arguments(")"), None)
        if token.value in _RESERVED:
            problem = f"Syntax error: reserved identifier: {token.value}"
            raise CelCompileError(problem, self._source, token.offset)
        return Identifier(token.offset, token.value)

    def _at_end(self, closing: str) -> bool:
        """Return True if no element follows; a comma may, even in an empty literal."""
        following = self._tokens[self._position + 1 : self._position + 2]
        if self._at(",") and following and following[0].value == closing:
            self._next()
        return self._at(closing)

    def _list(self, offset: int) -> Node:
        elements: list[Element] = []
        while not self._at_end("]"):
            optional = self._accept("?") is not None
            elements.append(Element(self._expression(), optional))
            if self._accept(",") is None:
                break
        self._expect("]")
        return ListLiteral(offset, tuple(elements))

    def _object(self, offset: int, type_name: str) -> Node:
        fields: list[Field] = []
        while not self._at("}"):
            optional = self._accept("?") is not None
            name = self._next()
            if name.kind not in (TokenKind.NAME, TokenKind.QUOTED_NAME):
                self._position -= 1
                raise self._unexpected("IDENTIFIER")
            self._expect(":")
            fields.append(Field(name.value, self._expression(), optional))
            if self._accept(",") is None:
                break
        self._expect("}")
        return ObjectLiteral(offset, type_name, tuple(fields))

    def _map(self, offset: int) -> Node:
        entries: list[Entry] = []
        while not self._at_end("}"):
            optional = self._accept("?") is not None
            key = self._expression()
            self._expect(":")
            entries.append(Entry(key, self._expression(), optional))
            if self._accept(",") is None:
                break
        self._expect("}")
        return MapLiteral(offset, tuple(entries))


def _dotted_name(node: Node) -> str:
    """Return the name that a node spells, such as ``Object.spec``; empty if it is no name."""
    if isinstance(node, Identifier):
        return node.name
    if isinstance(node, Select) and not node.optional and (prefix := _dotted_name(node.operand)):
        return f"{prefix}.{node.field}"
    return ""
