"""A limit on every input, queue, page, batch and buffer, in one place.

Each can be set by `GREENROOM_LIMIT_<NAME IN CAPITALS>`; `greenroom config` lists them.
"""

from dataclasses import dataclass

WORKERS = 64
"""The most server processes of one machine."""


@dataclass(frozen=True, slots=True)
class Limits:
    body_characters: int = 2000
    client_id_characters: int = 64
    idempotency_key_characters: int = 255
    subject_characters: int = 200
    label_characters: int = 64
    participants: int = 50
    delivery_shown_participants: int = 10
    job_participants: int = 1000
    search_characters: int = 100
    request_bytes: int = 256 * 1024
    request_head_bytes: int = 32 * 1024
    request_head_s: int = 30
    request_body_s: int = 60
    unread_close_s: int = 2
    messages_page: int = 50
    page: int = 100

    edit_window_s: int = 15 * 60
    quiet_days_until_archived: int = 180
    feed_kept_days: int = 7
    idempotency_kept_days: int = 7
    outbox_kept_days: int = 30
    message_kept_days: int = 548

    sends_per_minute: int = 60
    simple_sends_per_minute: int = 10
    starts_per_hour: int = 3
    starts_per_day: int = 20
    verified_starts_per_hour: int = 10
    verified_starts_per_day: int = 100

    send_batch: int = 64
    send_queue: int = 4096
    send_connections: int = 2
    read_connections: int = 8
    statement_timeout_ms: int = 15_000
    feed_connections: int = 6
    feed_readers: int = 2
    ack_connections: int = 1
    feed_batch: int = 64
    feed_page: int = 50
    feed_recheck_s: int = 10
    feed_recheck_batch: int = 1000
    ack_batch: int = 32
    ack_queue: int = 20_000
    ack_span: int = 1000
    outbox_shards: int = 8
    unsettled_s: int = 5
    settle_interval_s: int = 5
    ledger_connections: int = 8
    open_cards: int = 50
    cards_per_minute: int = 30
    timer_batch: int = 200
    job_attempts: int = 25
    jobs_at_once: int = 10
    provider_timeout_s: int = 10
    known_users: int = 100_000
    known_user_s: int = 60
    verified_tokens: int = 20_000

    streams: int = 20_000
    streams_per_user: int = 20
    opening_streams: int = 2000
    opened_streams_per_s: int = 250
    opened_streams_at_once: int = 20
    accepts_per_s: int = 1500
    accepts_at_once: int = 50
    sync_wait_s: int = 30
    heartbeat_s: int = 20
    silence_s: int = 20
    slow_reader_s: int = 20
    frame_bytes: int = 64 * 1024
    frames_per_s: int = 50
    frames_ahead_s: int = 5
    ticket_s: int = 30
    watched_threads: int = 50
    typing_s: int = 10
    presence_s: int = 60
    presence_refresh_s: int = 20
    bus_queue: int = 10_000

    shutdown_grace_s: int = 30
    maintenance_interval_s: int = 60
    maintenance_batch: int = 5000
