"""Explains why a server's certificate was rejected."""

import ssl

_EXPIRED = 10
_OTHER_NAME = {62, 64}
_UNKNOWN = {2, 18, 19, 20, 21}


def why(error: BaseException, *, setting: str) -> str:
    """Return what went wrong; *setting* is where a trusted authority can be configured."""
    refused = _refused_certificate(error)
    if refused is None:
        return str(error) or type(error).__name__
    if refused.verify_code == _EXPIRED:
        return "its certificate has expired"
    if refused.verify_code in _OTHER_NAME:
        return f"its certificate is for another name: {refused.verify_message}"
    if refused.verify_code in _UNKNOWN:
        return f"its certificate was not issued by a trusted authority; set one in {setting}"
    return f"its certificate is not valid: {refused.verify_message}"


def _refused_certificate(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Search the errors that clients wrap around it."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
