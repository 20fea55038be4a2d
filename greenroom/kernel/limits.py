"""Every limit of the server: inputs, queues, pages, batches and buffers.

Each can be set by `GREENROOM_LIMIT_<NAME IN CAPITALS>`. `greenroom config` lists the values in
effect, and `make limits` writes docs/limits.md. Clients read those that concern them from
`GET /v1/limits`, so that no client repeats a number of this file.
"""

import enum
from dataclasses import dataclass, field
from typing import Any

WORKERS = 64
"""The most server processes of one machine."""


class Audience(enum.Enum):
    CLIENTS = "clients"
    """Clients need the value to work well: `GET /v1/limits` answers with it."""
    CALLERS = "callers"
    """People and callers of the API can exceed it, but no client has to know it in advance."""
    OPERATORS = "operators"
    """Only those who run the server notice it."""


def _limit(default: int, text: str, audience: Audience) -> Any:
    return field(default=default, metadata={"text": text, "audience": audience})


def _told(default: int, text: str) -> Any:
    return _limit(default, text, Audience.CLIENTS)


def _met(default: int, text: str) -> Any:
    return _limit(default, text, Audience.CALLERS)


def _inner(default: int, text: str) -> Any:
    return _limit(default, text, Audience.OPERATORS)


@dataclass(frozen=True, slots=True)
class Limits:
    body_characters: int = _told(2000, "Longest message, in characters")
    client_id_characters: int = _told(64, "Longest `client_id` of a send, in characters")
    idempotency_key_characters: int = _told(255, "Longest `Idempotency-Key`, in characters")
    subject_characters: int = _told(200, "Longest subject of a thread, in characters")
    label_characters: int = _told(
        64, "Longest `role_context`, `job_id`, `group_id` or `leg_id`, in characters"
    )
    simple_file_bytes: int = _met(
        10 * 1024 * 1024, "Largest file that `/messages/uploadFile` takes, in bytes"
    )
    file_bytes: int = _told(20 * 1024 * 1024, "Largest file, in bytes")
    file_name_characters: int = _told(
        120, "Longest name of a file, in characters; longer ones are shortened"
    )
    alt_characters: int = _told(500, "Longest description of a file, in characters")
    attachments: int = _told(10, "Most files of one message")
    part_bytes: int = _told(5 * 1024 * 1024, "Bytes of each part of an upload but the last")
    image_side: int = _told(12_000, "Longest side of a picture, in pixels")
    image_pixels: int = _told(144_000_000, "Most pixels of a picture")
    video_s: int = _told(60, "Longest video, in seconds")
    voice_s: int = _told(300, "Longest voice note, in seconds")
    voice_peaks: int = _met(64, "Most values of a wave form that is sent with an upload")
    upload_s: int = _met(600, "Seconds for which the signed request of an upload can be made")
    download_s: int = _met(600, "Seconds for which the address of a file works, at most")
    uploads_per_hour: int = _met(120, "Uploads that one person may begin per hour")
    open_uploads: int = _met(40, "Most uploads of one person that are not complete")
    person_file_bytes_per_day: int = _met(2 * 1024**3, "Bytes that one person may upload per day")
    thread_file_bytes: int = _met(10 * 1024**3, "Bytes of all files of a thread together")
    listing_key_characters: int = _told(128, "Longest `listing_key` of a thread, in characters")
    external_key_characters: int = _told(
        200, "Longest key of your own that names a thread, in characters"
    )
    participants: int = _told(50, "Most people in a thread")
    delivery_shown_participants: int = _told(
        10, "Most people in a thread that still shows who has received a message"
    )
    job_participants: int = _met(1000, "Most people in a registered job")
    search_characters: int = _told(100, "Longest text to search the inbox for, in characters")
    request_bytes: int = _told(256 * 1024, "Largest body of a request, in bytes")
    request_head_bytes: int = _met(32 * 1024, "Largest request line and headers together, in bytes")
    request_head_s: int = _met(30, "Seconds in which the head of a request has to arrive")
    request_body_s: int = _met(60, "Seconds in which the body of a request has to arrive")
    upload_pace_bytes: int = _met(
        32 * 1024,
        "Bytes of an upload that have to arrive in each `request_body_s`, until all are there",
    )
    unread_close_s: int = _met(
        2, "Seconds that a closing connection waits for somebody to read its last answer"
    )
    messages_page: int = _told(50, "Most messages of one answer")
    page: int = _told(100, "Most items of any other list in one answer")

    edit_window_s: int = _told(15 * 60, "Seconds in which a message can be edited")
    quiet_days_until_archived: int = _met(
        180, "Days without a message after which a thread counts as archived"
    )
    feed_kept_days: int = _met(7, "Days for which the feed can be followed from an old cursor")
    idempotency_kept_days: int = _met(
        7, "Days for which an answer is repeated under its `Idempotency-Key`"
    )
    event_log_kept_days: int = _inner(30, "Days for which events stay in the event log")
    message_kept_days: int = _met(
        548, "Days after which messages are removed; a legal hold keeps them"
    )

    sends_per_minute: int = _told(60, "Messages that one person may send per minute")
    simple_sends_per_minute: int = _met(
        10, "Messages that one person may send per minute in one conversation by the simple API"
    )
    starts_per_hour: int = _told(3, "Conversations that an unverified person may start per hour")
    starts_per_day: int = _told(20, "Conversations that an unverified person may start per day")
    verified_starts_per_hour: int = _told(
        10, "Conversations that a verified person may start per hour"
    )
    verified_starts_per_day: int = _told(
        100, "Conversations that a verified person may start per day"
    )

    send_batch: int = _inner(64, "Most sends that are written in one transaction")
    send_queue: int = _inner(
        4096, "Most sends that wait in a process; more are told to come back later"
    )
    send_connections: int = _inner(2, "Database connections for sends, per process")
    read_connections: int = _inner(
        8, "Database connections for reading and everything else, per process"
    )
    statement_timeout_ms: int = _inner(
        15_000, "Milliseconds after which the database gives up a statement"
    )
    feed_connections: int = _inner(6, "Database connections for feeds, per process")
    feed_readers: int = _inner(2, "Feeds are read in so many batches at once, per process")
    ack_connections: int = _inner(1, "Database connections for acknowledged cursors, per process")
    feed_batch: int = _inner(64, "Most people whose feeds are read in one query")
    feed_page: int = _inner(50, "Most events of one person that are read at once")
    feed_look_s: int = _inner(20, "Seconds that one such read may take")
    feed_stalled_s: int = _inner(
        60, "Seconds for which somebody waits for the feed before `/readyz` says so"
    )
    feed_recheck_s: int = _inner(
        10, "Seconds after which feeds are looked at even if no wake-up came"
    )
    feed_recheck_batch: int = _inner(1000, "Most people who are looked at in one query then")
    ack_batch: int = _inner(32, "Most acknowledged cursors that are written in one transaction")
    ack_queue: int = _inner(20_000, "Most acknowledged cursors that wait in a process")
    ack_span: int = _inner(1000, "Most events that one acknowledgement marks as delivered at once")
    outbox_shards: int = _inner(8, "Partitions over which the outbox in DynamoDB is spread")
    unsettled_s: int = _inner(
        5, "Seconds after which what a dead process left half done in DynamoDB is finished"
    )
    settle_interval_s: int = _inner(5, "Seconds between two looks for such things")
    ledger_connections: int = _inner(
        8, "Database connections for bookings, cards and money, per process"
    )
    file_connections: int = _inner(3, "Database connections for files, per process")
    read_files: int = _inner(
        2000, "Files, and views of files, that a process keeps to show them again as they are"
    )
    open_cards: int = _told(50, "Most open cards in a thread")
    cards_per_minute: int = _told(30, "Cards that one person may make or act on per minute")
    timer_batch: int = _inner(200, "Most timers that are run in one round")
    job_attempts: int = _inner(25, "Attempts after which background work counts as failed for good")
    jobs_at_once: int = _inner(10, "Most background jobs at a time, per process")
    provider_timeout_s: int = _inner(10, "Seconds that a call to the payment provider may take")
    payment_confirmation_hours: int = _inner(
        24, "Hours in which a payer can confirm a payment with their bank; then it has failed"
    )
    upload_kept_hours: int = _inner(
        24, "Hours after which an upload that was not completed is removed"
    )
    unsent_file_kept_days: int = _inner(
        7, "Days after which a file that was uploaded and not sent is removed"
    )
    orphan_grace_s: int = _inner(
        3600,
        "Seconds for which a blob without a file is left alone, because it may just be written",
    )
    file_jobs_at_once: int = _inner(2, "Most files that are processed at a time, per process")
    webhooks: int = _met(20, "Most webhooks")
    webhook_url_characters: int = _met(2000, "Longest address of a webhook, in characters")
    webhook_description_characters: int = _met(
        200, "Longest description of a webhook, in characters"
    )
    webhook_replay_events: int = _met(10_000, "Most events that one call replays")
    webhook_timeout_s: int = _met(10, "Seconds in which a receiver of webhooks has to answer")
    webhook_answer_bytes: int = _met(
        16 * 1024, "Bytes of a receiver's answer that are read; the rest is not waited for"
    )
    webhook_retry_hours: int = _met(
        72, "Hours for which a delivery is tried again before it counts as failed"
    )
    webhook_failing_hours: int = _met(
        120, "Hours after which a webhook is disabled whose deliveries all fail"
    )
    webhook_overlap_hours: int = _met(
        24, "Hours for which the secret before the last rotation still signs"
    )
    webhook_kept_days: int = _met(30, "Days for which deliveries that have ended are listed")
    webhook_posts: int = _inner(64, "Most deliveries at a time, per process")
    webhook_posts_each: int = _inner(16, "Most deliveries to one webhook at a time, per process")
    webhook_batch: int = _inner(1000, "Most events that are queued for a webhook at once")
    webhook_connections: int = _inner(3, "Database connections for webhooks, per process")
    known_users: int = _inner(100_000, "Most people whom a process remembers as known")
    known_user_s: int = _inner(
        60, "Seconds for which it does; so long an erased person's token may still work"
    )
    verified_tokens: int = _inner(20_000, "Most tokens whose signature a process remembers")

    streams: int = _inner(20_000, "Most open streams, per process")
    streams_per_user: int = _told(
        20, "Most open streams of one person; the oldest is closed for a new one"
    )
    opening_streams: int = _inner(2000, "Most streams that wait to be opened, per process")
    opened_streams_per_s: int = _inner(250, "Streams that are opened per second, per process")
    opened_streams_at_once: int = _inner(
        20, "Streams that may be opened at once before that pace begins"
    )
    accepts_per_s: int = _inner(1500, "Connections that are accepted per second, per process")
    accepts_at_once: int = _inner(
        50, "Connections that may be accepted at once before that pace begins"
    )
    sync_wait_s: int = _told(30, "Longest `wait` of a long-poll, in seconds")
    heartbeat_s: int = _inner(20, "Seconds between two signs of life on a stream")
    silence_s: int = _inner(
        20, "Seconds without an answer to a ping after which a WebSocket is closed"
    )
    slow_reader_s: int = _inner(20, "Seconds that a stream waits for a reader that does not read")
    frame_bytes: int = _told(64 * 1024, "Largest frame that a WebSocket client may send, in bytes")
    frames_per_s: int = _told(50, "Frames that a WebSocket client may send per second")
    frames_ahead_s: int = _told(
        5, "Seconds' worth of frames that a WebSocket client may send at once"
    )
    ticket_s: int = _met(30, "Seconds for which a ticket can be used")
    watched_threads: int = _told(50, "Most threads that a stream watches for typing and presence")
    typing_s: int = _told(10, "Seconds after which somebody no longer types")
    presence_s: int = _met(60, "Seconds after which somebody who is not heard of is offline")
    presence_refresh_s: int = _inner(20, "Seconds between two writes that say who is online")
    bus_queue: int = _inner(10_000, "Most wake-ups that wait in a process")

    shutdown_grace_s: int = _inner(
        30, "Seconds that running requests have left when a server is stopped"
    )
    maintenance_interval_s: int = _inner(
        60, "Seconds between two rounds of removing what is past its time"
    )
    import_line_bytes: int = _inner(256 * 1024, "Longest line of an import, in bytes")
    import_window: int = _inner(500, "Lines of an import that are held at once")
    maintenance_batch: int = _inner(5000, "Most rows that one round removes of a kind")
