"""Lanes: what waits is taken from Redis, and a tick finds what a dead worker had."""
