"""Other ways to write the same thing, made plain before the expression is read: signs, words, Chinese, LaTeX."""

from __future__ import annotations

import re
import unicodedata

from remit_sandbox.calculation.english import in_signs
from remit_sandbox.errors import CalculationError

SIGNS = str.maketrans(
    {
        "×": "*", "✕": "*", "✖": "*", "·": "*", "⋅": "*", "∙": "*", "•": "*", "∗": "*", "＊": "*",
        "÷": "/", "∕": "/", "⁄": "/", "／": "/",
        "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "﹣": "-", "－": "-",
        "（": "(", "）": ")", "［": "[", "］": "]", "【": "(", "】": ")", "，": ",", "、": ",", "％": "%", "﹪": "%",
        "π": " pi ", "τ": " tau ", "√": " √ ", "∛": " ∛ ", "°": " deg ", "度": " deg ",
        "≠": "!=", "≤": "<=", "≥": ">=", "＝": "=",
    }
)  # fmt: skip

SUPERSCRIPTS = {
    "⁰": "0",
    "¹": "1",
    "²": "2",
    "³": "3",
    "⁴": "4",
    "⁵": "5",
    "⁶": "6",
    "⁷": "7",
    "⁸": "8",
    "⁹": "9",
}
SUPERSCRIPTS |= {"⁻": "-", "⁺": ""}

CHINESE_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {
    "两": 2,
    "〇": 0,
}
CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}
CHINESE_GROUPS = {"万": 10_000, "亿": 100_000_000}
CHINESE_NUMBER = "[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?"

DIGITS = r"\d+(?:\.\d+)?"
RATIO = rf"({DIGITS}|{CHINESE_NUMBER})\s*分之\s*({DIGITS}|{CHINESE_NUMBER})"
PERCENT = rf"百分之\s*({DIGITS}|{CHINESE_NUMBER})"

CHINESE_WORDS = (
    (re.compile(r"(\d+(?:\.\d+)?)\s*的\s*(\d+)\s*次方"), r" \1**\2 "),
    (re.compile(r"的?\s*平方根"), " 平方根 "),
    (re.compile(r"的\s*平方"), "**2 "),
    (re.compile(r"的\s*立方"), "**3 "),
    (re.compile("根号"), " √ "),
    (re.compile("除以"), " / "),
    (re.compile("乘以|乘"), " * "),
    (re.compile("加上|加"), " + "),
    (re.compile("减去|减"), " - "),
    (re.compile("的"), " * "),
    (re.compile("(等于|是)?(多少|几)?[？?]?$"), ""),
)

LATEX = (
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"((\1)/(\2))"),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r"sqrt(\1)"),
    (re.compile(r"\\(?:times|cdot)"), "*"),
    (re.compile(r"\\div"), "/"),
    (re.compile(r"\\(pi|sin|cos|tan|ln|log)(?![a-zA-Z])"), r"\1"),
    (re.compile(r"\\(?:left|right)"), ""),
)

QUESTION = re.compile(
    r"^\s*(?:(?:what\s+is|what's|how\s+much\s+is|calculate|compute|evaluate|solve)\b|请问|请?计算|请?算一下)[:\s]*",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Return `text` in ASCII signs, digits and words; what has no plain form is left for the reader to refuse."""
    text = _fractions(_subscripts(_superscripts(text))).translate(SIGNS)
    text = unicodedata.normalize("NFKC", text).translate(SIGNS)
    text = "".join(_digit(character) for character in text)
    text = QUESTION.sub("", text.strip())
    text = re.sub(r"(?<=\d)_(?=\d)", "", re.sub(r"^\s*=+", "", text))
    text = re.sub(r"=?\s*\?*\s*$", "", text) if not re.search(r"[=!<>]=\s*$", text) else text
    text = re.sub(r"[$€£¥](?=\s*[\d.])", "", text)
    text = in_signs(_latex(text))
    return _chinese(text) if re.search("[\u4e00-\u9fff〇]", text) else text


def _latex(text: str) -> str:
    """Read LaTeX: its commands, and braces as parentheses where there is any of it."""
    if "\\" not in text and "^{" not in text.replace(" ", ""):
        return text
    text = text.strip().strip("$")
    for pattern, replacement in LATEX:
        text = pattern.sub(replacement, text)
    return text.replace("{", "(").replace("}", ")")


def _fractions(text: str) -> str:
    """Write `½` as `(1/2)` and `2½` as `(2+1/2)`: put side by side, their digits would run together."""

    def written(match: re.Match[str]) -> str:
        ratio = unicodedata.normalize("NFKC", match[2]).replace("⁄", "/")
        if not re.fullmatch(r"\d+/\d+", ratio):
            raise CalculationError(f"{match[2]!a} is not understood; write a fraction as 1/3")
        return f"({match[1]}+{ratio})" if match[1] else f"({ratio})"

    return re.sub(r"(\d*)([¼-¾⅐-⅟↉])", written, text)


def _subscripts(text: str) -> str:
    """Read the base of a logarithm, `log₂`; any other small digit below the line would run into its number."""
    text = re.sub(r"(?<=log)[₀-₉]+", lambda match: unicodedata.normalize("NFKC", match[0]), text)
    if found := re.search("[₀-₉]", text):
        raise CalculationError(f"{found[0]!a} below the line is not understood; write log(x, base) or plain digits")
    return text


def _superscripts(text: str) -> str:
    def written(match: re.Match[str]) -> str:
        return f"**({''.join(SUPERSCRIPTS[character] for character in match[0])})"

    return re.sub(f"[{''.join(SUPERSCRIPTS)}]+", written, text)


def _digit(character: str) -> str:
    if character.isascii() or not character.isdecimal():
        return character
    return str(unicodedata.decimal(character))


def _chinese(text: str) -> str:
    text = re.sub(PERCENT, lambda match: f" percent({_number(match[1])}) ", text)
    text = re.sub(RATIO, lambda match: f" ({_number(match[2])}/{_number(match[1])}) ", text)
    text = re.sub(rf"负\s*(?={DIGITS}|{CHINESE_NUMBER})", "-", text)
    text = re.sub(rf"({DIGITS})\s*([十百千万亿]+)", lambda match: f"({match[1]}*{_chinese_integer(match[2])})", text)
    text = re.sub(CHINESE_NUMBER, lambda match: _chinese_number(match[0]), text)
    for pattern, replacement in CHINESE_WORDS:
        text = pattern.sub(replacement, text)
    text = re.sub(r"(\d+(?:\.\d+)?)\s*平方根", r" √ \1", text)
    if "除" in text:
        raise CalculationError("'除' can be read both ways; write '除以' for divided by")
    return text


def _number(written: str) -> str:
    return written if written[0].isascii() else _chinese_number(written)


def _chinese_number(written: str) -> str:
    head, _, decimals = written.partition("点")
    if not any(character in CHINESE_UNITS or character in CHINESE_GROUPS for character in head):
        whole = "".join(str(CHINESE_DIGITS[character]) for character in head)
    else:
        whole = str(_chinese_integer(head))
    digits = "".join(str(CHINESE_DIGITS[character]) for character in decimals)
    return f"{whole}.{digits}" if digits else whole


def _chinese_integer(written: str) -> int:
    total = section = digit = 0
    for character in written:
        if character in CHINESE_DIGITS:
            digit = CHINESE_DIGITS[character]
        elif character in CHINESE_UNITS:
            section += (digit or 1) * CHINESE_UNITS[character]
            digit = 0
        else:
            total = (total + section + digit or 1) * CHINESE_GROUPS[character]
            section = digit = 0
    return total + section + digit
