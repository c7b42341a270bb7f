"""Strings that a page must show and not obey: markup, controls, directions, lengths, and mixtures of them."""

from __future__ import annotations

from itertools import product

MARKUP = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg onload=alert(1)>",
    "</style><body onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>*{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=http://example.org'>",
    "<base href=http://example.org>",
    "' onmouseover=alert(1) x='",
    "]]><!--",
    "--><script>alert(1)</script>",
    "<math><mtext></mtext><script>alert(1)</script></math>",
    "</details></section></main></body></html>",
    "<plaintext>",
    "&lt;script&gt;&amp;&#x3c;",
    "{{7*7}} ${alert(1)} <%= 1 %>",
    "</dd></dl><form action=http://example.org><button>x</button>",
    "<link rel=stylesheet href=http://example.org/x.css>",
]
CONTROLS = [
    "",
    "\x00\x01\x1b[31m\x7f",
    "a\u202eb\u2066c",
    "\u200f\u061c\u2028\u2029",
    "\ud800",
    "line\nbreak\ttab",
    "\ufeff\ufffe\uffff",
    "e\u0301\u0302\u0303" * 40,
]
LONG = ["x" * 10_000, "字" * 10_000]

HOSTILE = [*(f"{mark}{control}" for mark, control in product(MARKUP, CONTROLS)), *LONG]
HOSTILE += [f"{control}{mark}" for mark, control in product(MARKUP, CONTROLS[1:])]
