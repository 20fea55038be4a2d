"""The client's numbers, in one place. Times are seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientLimits:
    open_timeout_s: float = 10
    answer_timeout_s: float = 15
    close_timeout_s: float = 1
    silence_s: float = 45
    ping_interval_s: float = 20
    ping_timeout_s: float = 10
    long_poll_s: int = 25
    buffered_events: int = 1000

    poll_open_s: float = 3
    poll_background_s: float = 10
    poll_idle_s: float = 30
    idle_after_s: float = 5 * 60

    backoff_base_s: float = 0.5
    backoff_cap_s: float = 30
    retry_ratio: float = 0.2
    retry_window_s: float = 60
    stream_retries: int = 20
    restart_spread_s: float = 5
    many_frames_wait_s: float = 10
    unreadable_spread_s: float = 60

    falls_after: int = 2
    falls_after_unavailable: int = 5
    proves_after_s: float = 5
    climb_after_s: float = 60
    climb_cap_s: float = 10 * 60

    token_margin_s: float = 60
    token_refusals: int = 3

    ack_interval_s: float = 1
    typing_interval_s: float = 4
    frame_bytes: int = 32 * 1024
    frames_per_s: float = 40
    frames_ahead_s: float = 2
    cached_threads: int = 200
    cached_messages: int = 50
    queued_sends: int = 1000
    sends_at_once: int = 8

    upload_part_bytes: int = 5 * 1024 * 1024
    upload_timeout_s: float = 120
    upload_attempts: int = 8
