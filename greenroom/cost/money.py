"""Formats dollars and large numbers for the report."""

_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def dollars(usd: float) -> str:
    """With cents below $1000, whole dollars above; a minus stands before the dollar sign."""
    sign, size = ("-" if usd < 0 else ""), abs(usd)
    if size >= 999.5:
        return f"{sign}${size:,.0f}"
    text = f"{size:.2f}"
    return f"${text}" if float(text) == 0 else f"{sign}${text}"


def short(number: float) -> str:
    """Three digits and a letter: 1.86M."""
    for size, letter in _SIZES:
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
