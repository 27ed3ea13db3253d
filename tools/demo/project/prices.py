"""Prices of a small shop: amounts are in cents."""

Items = list[tuple[int, int]]


def total(items: Items) -> int:
    """What a list of prices and counts comes to."""
    amount = 0
    for price, count in items:
        amount += price * count
    return amount


def discounted(amount: int, percent: int) -> float:
    """An amount less some percent of it."""
    return amount - amount * percent / 100


def receipt(items: Items) -> str:
    """A line for each item and the total."""
    lines = [f"{count} x {price / 100:.2f}" for price, count in items]
    return "\n".join([*lines, f"total {total(items) / 100:.2f}"])
