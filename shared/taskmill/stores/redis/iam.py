"""The password of a user that logs in by IAM: a signed request, valid for 15 minutes."""
# ruff: noqa: PLC0415 - botocore is slow to import, and password logins do not need it

SECONDS_TO_LIVE = 900


def iam_token(user: str, cache: str) -> str:
    """Return a signed request of *user* to connect to the serverless cache of this name."""
    from botocore.model import ServiceId
    from botocore.session import get_session
    from botocore.signers import RequestSigner

    session = get_session()
    region = session.get_config_variable("region")
    signer = RequestSigner(
        ServiceId("elasticache"),
        region,
        "elasticache",
        "v4",
        session.get_credentials(),
        session.get_component("event_emitter"),
    )
    url = f"https://{cache}/?Action=connect&User={user}&ResourceType=ServerlessCache"
    signed: str = signer.generate_presigned_url(
        {"method": "GET", "url": url, "body": {}, "headers": {}, "context": {}},
        operation_name="connect",
        expires_in=SECONDS_TO_LIVE,
        region_name=region,
    )
    return signed.removeprefix("https://")
