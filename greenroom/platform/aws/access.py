"""Where the keys and the region of an AWS service come from, if no setting says so."""

import os

from greenroom.platform.aws.signing import FixedKeys, KeySource, environment_keys


def find_access(
    region: str | None,
    error: type[Exception],
    *,
    extra: str,
    setting: str,
    needs_region: bool = True,
) -> tuple[str | None, KeySource]:
    """The region and the keys: from the environment, else as botocore finds them in profiles and
    roles. Raises `error`, the service's own; `extra` of this package brings botocore, and `setting`
    takes the region."""
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    keys = environment_keys()
    if keys is not None and (region or not needs_region):
        return region, FixedKeys(keys)
    try:
        import botocore.session  # type: ignore[import-untyped]  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]  # noqa: PLC0415

        from greenroom.platform.aws.credentials import AwsKeys  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        raise error(
            "AWS profiles and roles need the package botocore, which is not installed. Run "
            f"`pip install 'greenroom[{extra}]'`, or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
            f"and {setting}."
        ) from missing
    session = botocore.session.Session()
    try:
        region = region or session.get_config_variable("region")
    except BotoCoreError as failure:
        raise error(f"The AWS configuration cannot be read: {failure}. Correct it.") from failure
    if needs_region and not region:
        raise error(
            f"No AWS region is set. Set {setting} or AWS_REGION, for example to eu-central-1, or "
            "give your AWS profile a region."
        )
    return region, AwsKeys(session, error)
