"""The preview of a message in the inbox: its first words, without formatting, and its files."""

from collections.abc import Sequence

from greenroom.conversations.markdown import plain_text
from greenroom.conversations.model import AttachmentRef, FileSummary, LastMessage, Message

PREVIEW_CHARACTERS = 140


def preview(message: Message) -> str:
    """Empty for a deleted message, and for files without a caption."""
    text = plain_text(message.body)
    return text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"


def as_last_message(message: Message) -> LastMessage:
    return LastMessage(
        message.id,
        message.author_id,
        message.kind,
        preview(message),
        message.system,
        message.created_at_ms,
        message.deleted_at_ms,
        None if message.card is None else message.card.get("type"),
        summary_of(message.attachments),
    )


def summary_of(attachments: Sequence[AttachmentRef]) -> FileSummary | None:
    if not attachments:
        return None
    kinds = {each.media for each in attachments}
    return FileSummary(kinds.pop() if len(kinds) == 1 else "other", len(attachments))
