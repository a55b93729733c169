"""Spans and metrics for OpenTelemetry, where the program around Remit has configured it."""
