"""A calculator that people and models can type anything into: exact where people expect it, bounded always."""

from remit_sandbox.calculation.calculate import Calculation, calculate

__all__ = ["Calculation", "calculate"]
