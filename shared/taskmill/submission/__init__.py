"""Submission: requests are read, checked, admitted and published."""
