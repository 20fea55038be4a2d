"""The XML of S3: what we send, and what we read of its answers."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from greenroom.platform.blobs.port import BlobInfo, Part

_NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class NotADocumentError(Exception):
    """Half an answer, or that of a proxy."""


def parse(body: bytes) -> ElementTree.Element:
    """Without namespaces. Raises NotADocumentError."""
    try:
        # From the configured store; expat refuses entities that multiply.
        root = ElementTree.fromstring(body)  # noqa: S314
    except ElementTree.ParseError as error:
        raise NotADocumentError(str(error)) from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def error_code(body: bytes) -> str:
    """Empty if the body is no error document."""
    try:
        root = parse(body)
    except NotADocumentError:
        return ""
    return (root.findtext("Code") or "") if root.tag == "Error" else ""


def listed(root: ElementTree.Element) -> Iterator[BlobInfo]:
    for each in root.iter("Contents"):
        modified = datetime.fromisoformat(each.findtext("LastModified") or "")
        yield BlobInfo(
            each.findtext("Key") or "",
            int(each.findtext("Size") or 0),
            int(modified.timestamp() * 1000),
        )


def parts(root: ElementTree.Element) -> Iterator[tuple[str, Part]]:
    """Each with when it was put, as text that sorts."""
    for each in root.iter("Part"):
        part = Part(
            int(each.findtext("PartNumber") or 0),
            int(each.findtext("Size") or 0),
            (each.findtext("ETag") or "").strip('"'),
        )
        yield each.findtext("LastModified") or "", part


def complete(parts: Sequence[Part]) -> bytes:
    lines = "".join(
        f'<Part><PartNumber>{part.number}</PartNumber><ETag>"{escape(part.etag)}"</ETag></Part>'
        for part in parts
    )
    return f"<CompleteMultipartUpload {_NAMESPACE}>{lines}</CompleteMultipartUpload>".encode()


def delete(keys: Iterable[str]) -> bytes:
    lines = "".join(f"<Object><Key>{escape(key)}</Key></Object>" for key in keys)
    return f"<Delete {_NAMESPACE}><Quiet>true</Quiet>{lines}</Delete>".encode()


def undeleted(root: ElementTree.Element) -> list[str]:
    """The codes of those that could not be deleted."""
    codes = (each.findtext("Code") or "" for each in root.iter("Error"))
    return [code for code in codes if code != "NoSuchKey"]


def cors(origins: Iterable[str]) -> bytes:
    """Lets pages of these origins upload and download by signed addresses."""
    allowed = "".join(f"<AllowedOrigin>{escape(each)}</AllowedOrigin>" for each in origins)
    methods = "".join(f"<AllowedMethod>{each}</AllowedMethod>" for each in CORS_METHODS)
    headers = "".join(f"<AllowedHeader>{each}</AllowedHeader>" for each in CORS_HEADERS)
    exposed = "".join(f"<ExposeHeader>{each}</ExposeHeader>" for each in CORS_EXPOSED)
    rule = f"{allowed}{methods}{headers}{exposed}<MaxAgeSeconds>{CORS_KEPT_S}</MaxAgeSeconds>"
    rules = f"<CORSRule>{rule}</CORSRule>"
    return f"<CORSConfiguration {_NAMESPACE}>{rules}</CORSConfiguration>".encode()


CORS_METHODS = ("GET", "HEAD", "PUT")
CORS_HEADERS = ("content-type", "range")
CORS_EXPOSED = ("ETag", "Content-Range")
CORS_KEPT_S = 600
