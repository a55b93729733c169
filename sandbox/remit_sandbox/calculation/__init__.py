"""A calculator that people and models can type anything into: exact where people expect it, bounded always."""

from remit_sandbox.calculation.calculate import Calculation, calculate
from remit_sandbox.calculation.dates import DateDifference, date_after, date_difference
from remit_sandbox.calculation.units import convert

__all__ = ["Calculation", "DateDifference", "calculate", "convert", "date_after", "date_difference"]
