"""Arithmetic on published figures: a formula, evaluated and shown with its numbers.

Formulas are Python expressions over named terms and the functions of ``FUNCTIONS``; nothing else can
be written in one.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gapbook.claims import closed_loop
from gapbook.errors import ParameterError
from gapbook.model.work import REDRAW_DESTINATION, share_touching

__all__ = ["FUNCTIONS", "Computation", "compute"]


def _picks(alpha: float, accounts: float) -> NDArray[np.float64]:
    weights = np.arange(1, int(accounts) + 1, dtype=np.float64) ** -alpha
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def transfers_touching(hottest: float, alpha: float, accounts: float, *, redraw: str) -> float:
    """Share of transfers, in percent, that touch one of the ``hottest`` accounts; ``redraw`` says what is drawn
    again while both accounts are the same (:data:`gapbook.model.work.REDRAWS`)."""
    return 100 * share_touching(_picks(alpha, accounts), int(hottest), redraw)


def picks_in_use(under_way: float, alpha: float, accounts: float) -> float:
    """Share of picks, in percent, that find their account among the picks that are under way."""
    picks = _picks(alpha, accounts)
    return float(100 * (picks * (1 - (1 - picks) ** under_way)).sum())


def _of_several(function: Callable[[Sequence[float]], float]) -> Callable[..., float]:
    """Called with its numbers one by one, as a formula writes them."""
    return lambda *numbers: function(numbers)


FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "ln": math.log,
    "ceil": math.ceil,
    "as_double": float,
    "greatest": _of_several(max),
    "least": _of_several(min),
    "mean": _of_several(statistics.fmean),
    "geometric_mean": _of_several(statistics.geometric_mean),
    "in_flight": closed_loop.in_flight,
    "in_flight_with_tail": closed_loop.in_flight_with_tail,
    "most_per_s": closed_loop.most_per_s,
    "outside_ms": closed_loop.outside_ms,
    # Formulas are about the published benchmark, which draws the destination again and keeps the source.
    "transfers_touching": partial(transfers_touching, redraw=REDRAW_DESTINATION),
    "picks_in_use": picks_in_use,
}
_OPERATORS: Mapping[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


@dataclass(frozen=True)
class Computation:
    """A result and how it came about: ``73,123 ÷ 32,232 = 2.27``."""

    result: float
    shown: str


def compute(formula: str, terms: Mapping[str, float]) -> Computation:
    """Evaluate a formula; raises ParameterError on a name, call or operator that it does not know."""
    try:
        result = float(_value(ast.parse(formula, mode="eval").body, terms, formula))
    except SyntaxError:
        raise ParameterError(f"formula {formula!r}: not an expression") from None
    except ZeroDivisionError:
        raise ParameterError(f"formula {formula!r}: divides by zero") from None
    return Computation(result, f"{_shown(formula, terms)} = {_number(result)}")


def _value(node: ast.AST, terms: Mapping[str, float], formula: str) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in terms:
            return terms[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, terms, formula), _value(right, terms, formula))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand, terms, formula))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(argument, terms, formula) for argument in given))
    raise ParameterError(
        f"formula {formula!r}: {ast.unparse(node)} is not allowed; allowed: + - * / **, numbers, "
        f"{', '.join([*terms, *FUNCTIONS])}"
    )


def _shown(formula: str, terms: Mapping[str, float]) -> str:
    """The formula with its terms as numbers, in the signs of print."""
    filled = re.sub(r"[A-Za-z_]\w*", lambda name: str(terms.get(name[0], name[0])), formula)
    filled = re.sub(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])", lambda number: _grouped(float(number[0])), filled)
    for written, printed in (("**", "^"), (" * ", " × "), (" / ", " ÷ "), (" - ", " − "), ("_", " ")):
        filled = filled.replace(written, printed)
    return filled


def _grouped(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() else f"{number:,g}"


def _number(result: float) -> str:
    """Four digits, so that the rounding to the printed ones can be followed."""
    text = f"{result:,.0f}" if result == 0 or abs(result) >= 1000 else f"{result:.4g}"
    return text.replace("-", "−")
