"""Says in words why a server's certificate was refused."""

import ssl

_EXPIRED = 10
_OTHER_NAME = {62, 64}
_UNKNOWN = {2, 18, 19, 20, 21}


def why(error: BaseException, *, setting: str) -> str:
    """Return what went wrong; *setting* names where an authority to trust can be given."""
    refused = _refused_certificate(error)
    if refused is None:
        return str(error) or type(error).__name__
    if refused.verify_code == _EXPIRED:
        return "its certificate has expired"
    if refused.verify_code in _OTHER_NAME:
        return f"its certificate is for another name: {refused.verify_message}"
    if refused.verify_code in _UNKNOWN:
        return f"its certificate comes from no authority that is trusted here; {setting} names one"
    return f"its certificate is not valid: {refused.verify_message}"


def _refused_certificate(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Look through the errors that the clients wrap around it."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
