"""Every store in plain memory: for tests and for demonstrations without servers."""
