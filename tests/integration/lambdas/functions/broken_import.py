"""A function whose module cannot be imported."""

import a_module_that_does_not_exist  # noqa: F401 - the missing module is the point
