"""Evaluation: suites of cases against a deployment or an agent in code, offline from recordings where that is wanted.

```python
report = evaluate("suite.yaml", "path/to/deployment", repeat=3)
print(report.success, report.flaky)
```

The names below are imported when they are first used.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from remit.evaluation.attempt import Attempt as Attempt
    from remit.evaluation.baseline import Baseline as Baseline
    from remit.evaluation.baseline import Comparison as Comparison
    from remit.evaluation.baseline import compare as compare
    from remit.evaluation.baseline import read_baseline as read_baseline
    from remit.evaluation.case import Case as Case
    from remit.evaluation.case import Suite as Suite
    from remit.evaluation.evaluate import evaluate as evaluate
    from remit.evaluation.figures import Figures as Figures
    from remit.evaluation.reading import read_suite as read_suite
    from remit.evaluation.report import Report as Report

_HOMES = {
    "Attempt": "remit.evaluation.attempt",
    "Baseline": "remit.evaluation.baseline",
    "Case": "remit.evaluation.case",
    "Comparison": "remit.evaluation.baseline",
    "Figures": "remit.evaluation.figures",
    "Report": "remit.evaluation.report",
    "Suite": "remit.evaluation.case",
    "compare": "remit.evaluation.baseline",
    "evaluate": "remit.evaluation.evaluate",
    "read_baseline": "remit.evaluation.baseline",
    "read_suite": "remit.evaluation.reading",
}

__all__ = [
    "Attempt",
    "Baseline",
    "Case",
    "Comparison",
    "Figures",
    "Report",
    "Suite",
    "compare",
    "evaluate",
    "read_baseline",
    "read_suite",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'remit.evaluation' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
