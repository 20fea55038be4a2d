"""The signed headers of requests to DynamoDB."""

from greenroom.platform.aws.json_signing import JsonSigner

SERVICE = "dynamodb"
TARGET = "DynamoDB_20120810."
CONTENT_TYPE = "application/x-amz-json-1.0"


class Signer(JsonSigner):
    def __init__(self, region: str, host: str) -> None:
        super().__init__(region, host, service=SERVICE, target=TARGET, content_type=CONTENT_TYPE)
