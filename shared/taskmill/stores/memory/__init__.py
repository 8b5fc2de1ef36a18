"""Every store in memory, for tests and demonstrations without servers."""
