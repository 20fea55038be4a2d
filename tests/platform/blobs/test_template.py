"""The bucket of the CloudFormation template is the one that the code expects."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from greenroom.files.model import QUARANTINE, THREADS
from greenroom.platform.aws.signing import FixedKeys, Keys
from greenroom.platform.blobs.folder import LEFT_OVER_MS
from greenroom.platform.blobs.place import S3Place, parse_place
from greenroom.platform.blobs.port import Part
from greenroom.platform.blobs.s3 import documents
from greenroom.platform.blobs.s3.client import Reply, Request, S3Client
from greenroom.platform.blobs.s3.signing import Bucket
from greenroom.platform.blobs.s3.store import S3Blobs
from tests.support import REPOSITORY
from tests.support.clock import DAY_MS

from .chunks import chunks

TEMPLATE = REPOSITORY / "deploy" / "blobs.yaml"
HANDLE = "upload"
MADE = b"<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>"
PARTS = (
    b"<ListPartsResult><Part><PartNumber>1</PartNumber><Size>1</Size><ETag>e</ETag></Part>"
    b"</ListPartsResult>"
)

# The permission that AWS asks for, by method and by the parameter that makes it another call.
ACTIONS = {
    ("PUT", ""): "s3:PutObject",
    ("PUT", "partNumber"): "s3:PutObject",
    ("POST", "uploads"): "s3:PutObject",
    ("POST", "uploadId"): "s3:PutObject",
    ("POST", "delete"): "s3:DeleteObject",
    ("GET", ""): "s3:GetObject",
    ("HEAD", ""): "s3:GetObject",
    ("GET", "uploadId"): "s3:ListMultipartUploadParts",
    ("DELETE", "uploadId"): "s3:AbortMultipartUpload",
    ("GET", "list-type"): "s3:ListBucket",
}


@pytest.fixture(scope="module")
def resources() -> Mapping[str, Any]:
    document, _ = decode(str(TEMPLATE))
    found: Mapping[str, Any] = document["Resources"]
    return found


@pytest.fixture
def bucket(resources: Mapping[str, Any]) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = resources["Files"]["Properties"]
    return properties


def test_the_template_has_nothing_to_complain_about() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), "--include-checks", "I", "--", TEMPLATE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_bucket_is_private_encrypted_and_keeps_no_versions(
    resources: Mapping[str, Any], bucket: Mapping[str, Any]
) -> None:
    assert all(bucket["PublicAccessBlockConfiguration"].values())
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert "VersioningConfiguration" not in bucket
    # With this encryption the ETag is the MD5 of the bytes, which reading checks.
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert resources["Files"]["DeletionPolicy"] == "Retain"
    assert resources["Files"]["UpdateReplacePolicy"] == "Retain"


def test_nobody_gets_in_without_tls(resources: Mapping[str, Any]) -> None:
    statements = resources["FilesPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert [each["Effect"] for each in statements] == ["Deny", "Deny"]
    assert [each["Condition"] for each in statements] == [
        {"Bool": {"aws:SecureTransport": "false"}},
        {"NumericLessThan": {"s3:TlsVersion": "1.2"}},
    ]
    for each in statements:
        assert (each["Principal"], each["Action"], len(each["Resource"])) == ("*", "s3:*", 2)


def test_pages_may_do_what_the_embedded_engine_lets_them_do(bucket: Mapping[str, Any]) -> None:
    [rule] = bucket["CorsConfiguration"]["CorsRules"]
    assert tuple(rule["AllowedMethods"]) == documents.CORS_METHODS
    assert tuple(rule["AllowedHeaders"]) == documents.CORS_HEADERS
    assert tuple(rule["ExposedHeaders"]) == documents.CORS_EXPOSED
    assert rule["MaxAge"] == documents.CORS_KEPT_S
    assert rule["AllowedOrigins"] == {"Ref": "AllowedOrigins"}


def test_pages_may_send_every_header_of_a_signed_request(bucket: Mapping[str, Any]) -> None:
    blobs = S3Blobs(S3Client(Bucket("https://b", "r"), FixedKeys(Keys("a", "b"))))
    upload = blobs.sign_upload("a/b", mime="image/png", byte_count=1, seconds=60)
    part = blobs.sign_part("a/b", HANDLE, 1, byte_count=1, seconds=60)
    [rule] = bucket["CorsConfiguration"]["CorsRules"]
    assert {upload.method, part.method} <= set(rule["AllowedMethods"])
    assert {*upload.headers, *part.headers} <= set(rule["AllowedHeaders"])


def test_lifecycle_rules_are_about_prefixes_that_the_code_uses(bucket: Mapping[str, Any]) -> None:
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    assert all(rule["Status"] == "Enabled" for rule in rules.values())
    cheaper, ended = rules["originals-get-cheaper"], rules["quarantine-ends"]
    assert cheaper["Transitions"] == [{"StorageClass": "STANDARD_IA", "TransitionInDays": 30}]
    assert cheaper["Prefix"] == {"Fn::Sub": "${Prefix}" + THREADS}
    assert ended["Prefix"] == {"Fn::Sub": "${Prefix}" + QUARANTINE}
    unfinished = rules["unfinished-uploads-end"]["AbortIncompleteMultipartUpload"]
    assert unfinished["DaysAfterInitiation"] * DAY_MS == LEFT_OVER_MS


class Recorder(S3Client):
    """Answers each request, and remembers the permission that it needs."""

    def __init__(self) -> None:
        super().__init__(Bucket("https://bucket.example", "r"), FixedKeys(Keys("a", "b")))
        self.needed: set[str] = set()

    async def call(self, request: Request, *, allowed: tuple[int, ...] = ()) -> Reply:
        assert allowed in ((), (404,))
        variant = next((each for each in request.query if (request.method, each) in ACTIONS), "")
        self.needed.add(ACTIONS[request.method, variant])
        headers = {
            "ETag": '"e"',
            "Content-Length": "1",
            "Last-Modified": "Wed, 21 Oct 2026 07:28:00 GMT",
        }
        body = {"uploads": MADE, "uploadId": PARTS, "list-type": b"<ListBucketResult/>"}
        return Reply(200, headers, body.get(variant, b""))


async def test_the_servers_may_do_exactly_what_they_do(resources: Mapping[str, Any]) -> None:
    client = Recorder()
    blobs = S3Blobs(client)
    await blobs.put("a", chunks(b"x"), mime="", byte_count=1)
    await blobs.find("a")
    await blobs.delete(["a"])
    assert [each async for each in blobs.list("")] == []
    handle = await blobs.begin_parts("a", mime="")
    await blobs.put_part("a", handle, 1, chunks(b"x"), byte_count=1)
    await blobs.finish_parts("a", handle, [Part(1, 1, "e")])
    await blobs.abort_parts("a", handle)
    await blobs.ping()
    statements = resources["ServerPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    objects, bucket = statements
    assert {*objects["Action"], bucket["Action"]} == client.needed
    assert objects["Resource"] == {"Fn::Sub": "${Files.Arn}/${Prefix}*"}


def test_the_output_is_a_place_that_the_setting_takes() -> None:
    document, _ = decode(str(TEMPLATE))
    template = document["Outputs"]["Place"]["Value"]["Fn::Sub"]
    for prefix in ("", "shop/"):
        place = template.replace("${Files}", "bucket").replace("${Prefix}", prefix)
        assert parse_place(place) == S3Place("bucket", prefix)
