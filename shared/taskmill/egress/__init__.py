"""SSRF protection for calls to external endpoints."""
