"""The built-in virus scan: our own rules over a file and everything packed inside it."""

from dataclasses import dataclass, field

import yara_x

from greenroom.files.media.sniffing import Sniffed
from greenroom.files.media.unpacking import Budget, Contents, unescape_pdf_names, unpack
from greenroom.files.media.virus_rules import RULES

SCAN_TIMEOUT_S = 30
# Archives that only ClamAV can open.
_CLOSED = {
    "application/x-7z-compressed",
    "application/vnd.rar",
    "application/zstd",
}


class ScannerError(Exception):
    """The scanner gave no verdict, so the file counts as not scanned."""


@dataclass(slots=True)
class Verdict:
    """`virus` and `active` name the rules that matched. `is_opaque` says that parts of the file
    could not be looked at."""

    virus: set[str] = field(default_factory=set)
    active: set[str] = field(default_factory=set)
    is_opaque: bool = False
    pieces: int = 0


def compile_rules() -> yara_x.Rules:
    return yara_x.compile(RULES)


def scan(data: bytes, sniffed: Sniffed, rules: yara_x.Rules, *, has_clamav: bool) -> Verdict:
    """Raises `BombError` and `ScannerError`."""
    scanner = yara_x.Scanner(rules)
    scanner.set_timeout(SCAN_TIMEOUT_S)
    verdict = Verdict()
    contents = Contents()
    _scan_piece(scanner, data, sniffed, verdict)
    for piece in unpack(data, contents, Budget()):
        verdict.pieces += 1
        _scan_piece(scanner, piece, sniffed, verdict)
    if sniffed.family == "archive":
        is_closed = sniffed.mime in _CLOSED or bool(contents.unread_methods)
        verdict.is_opaque = contents.is_encrypted or (is_closed and not has_clamav)
    elif sniffed.family == "pdf":
        verdict.is_opaque = b"/Encrypt" in unescape_pdf_names(data)
    return verdict


def _scan_piece(scanner: yara_x.Scanner, piece: bytes, sniffed: Sniffed, verdict: Verdict) -> None:
    try:
        matches = list(scanner.scan(piece).matching_rules)
        if sniffed.family == "pdf" and b"#" in piece:
            matches += scanner.scan(unescape_pdf_names(piece)).matching_rules
    except (yara_x.ScanError, yara_x.TimeoutError) as error:
        raise ScannerError(str(error)) from error
    for rule in matches:
        if rule.identifier == "pdf_action" and sniffed.family != "pdf":
            continue
        found = verdict.virus if "virus" in rule.tags else verdict.active
        found.add(rule.identifier)
