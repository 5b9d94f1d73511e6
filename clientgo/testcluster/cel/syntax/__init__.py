"""From source text to a syntax tree: lexer, parser, macros and the nodes of the tree."""
