"""The steps of a job in their order, inside its process."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyvips
import yara_x

from greenroom.files.media import lengths, pictures, recordings
from greenroom.files.media.classifier import Classifier, band_of
from greenroom.files.media.documents import first_page
from greenroom.files.media.ffmpeg import Ffmpeg, Probed
from greenroom.files.media.job import BandSource, Media, Step, StepRecord
from greenroom.files.media.qr_codes import qr_texts
from greenroom.files.media.refusals import RefusalError
from greenroom.files.media.scanning import ScannerError, Verdict, scan
from greenroom.files.media.sniffing import HEAD_BYTES, Sniffed, agrees, claims_to_run, sniff
from greenroom.files.media.unpacking import BombError
from greenroom.files.media.watermarks import watermarked
from greenroom.files.media.wire import Answer, AnsweredRendition, Order

# Larger uploads are refused before they get here.
UPLOAD_BYTES = 256 * 1024**2
DOWNLOAD = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Tools:
    """What the supervisor has loaded."""

    rules: yara_x.Rules
    classifier: Classifier | None
    ffmpeg: Ffmpeg | None


@dataclass(slots=True)
class _Made:
    """What is known of the upload so far."""

    media: Media = "other"
    mime: str = DOWNLOAD
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: list[int] | None = None
    band: int | None = 0
    band_source: BandSource = "none"
    renditions: list[AnsweredRendition] = field(default_factory=list)
    steps: list[StepRecord] = field(default_factory=list)
    qr_texts: list[str] = field(default_factory=list)


class Pipeline:
    def __init__(self, order: Order, tools: Tools) -> None:
        self._order = order
        self._tools = tools
        self._made = _Made()

    def run(self, upload: int) -> Answer:
        try:
            data = _read(upload)
            sniffed = self._sniff(data)
            if self._order.stages == "make":
                # Recorded when the file was examined.
                self._made.steps.clear()
            else:
                self._scan(data, sniffed)
            if self._order.stages != "examine":
                self._make(data, sniffed)
        except RefusalError as refusal:
            return self._refused(refusal)
        return Answer(
            state="ready",
            media=self._made.media,
            mime=self._made.mime,
            width=self._made.width,
            height=self._made.height,
            duration_ms=self._made.duration_ms,
            peaks=self._made.peaks,
            band=self._made.band,
            band_source=self._made.band_source,
            renditions=self._made.renditions,
            steps=self._made.steps,
            qr_texts=self._made.qr_texts,
        )

    def _refused(self, refusal: RefusalError) -> Answer:
        return Answer(
            state=refusal.state,
            reason=refusal.reason,
            media=self._made.media,
            mime=self._made.mime,
            steps=self._made.steps,
        )

    def _sniff(self, data: bytes) -> Sniffed:
        with self._step("sniff") as details:
            if not data:
                raise RefusalError("empty")
            sniffed = sniff(data[:HEAD_BYTES])
            details.append(sniffed.mime)
            declared = self._order.declared_mime
            self._made.media = sniffed.media(declared)
            if self._made.media != "other":
                self._made.mime = sniffed.mime
            if claims_to_run(declared):
                raise RefusalError("unsupported", f"declared as {declared}")
            if not agrees(declared, sniffed):
                raise RefusalError("type_mismatch", f"{sniffed.mime}, declared as {declared}")
            if sniffed.family == "active":
                raise RefusalError("unsupported", sniffed.mime)
            return sniffed

    def _scan(self, data: bytes, sniffed: Sniffed) -> None:
        with self._step("virus") as details:
            try:
                has_clamav = self._order.has_clamav
                verdict = scan(data, sniffed, self._tools.rules, has_clamav=has_clamav)
            except BombError as error:
                raise RefusalError("too_large", str(error)) from error
            except ScannerError as error:
                # The same rules would give no verdict the next time either.
                raise RefusalError("not_scanned", str(error), state="quarantined") from error
            details.append(f"built-in rules, {verdict.pieces} pieces inside")
            self._judge(verdict, sniffed, details)

    def _judge(self, verdict: Verdict, sniffed: Sniffed, details: list[str]) -> None:
        found = ", ".join(sorted(verdict.virus))
        if found and self._order.is_released:
            details.append(f"released in spite of {found}")
        elif found:
            raise RefusalError("virus", found, state="quarantined")
        if sniffed.is_decoded:
            return
        if verdict.active:
            raise RefusalError("unsupported", ", ".join(sorted(verdict.active)))
        if verdict.is_opaque:
            raise RefusalError("unsupported", "encrypted, or packed in a way we cannot read")

    def _make(self, data: bytes, sniffed: Sniffed) -> None:
        if sniffed.is_decoded:
            self._make_picture(data, sniffed)
        elif sniffed.family == "pdf":
            self._make_pdf(data)
        elif sniffed.family in ("video", "audio", "recording"):
            self._make_recording(data, sniffed)
        else:
            with self._step("decode", outcome="skipped") as details:
                details.append("download only")
            self._keep_upload(DOWNLOAD)

    def _make_picture(self, data: bytes, sniffed: Sniffed) -> None:
        with self._step("decode") as details:
            picture = pictures.open_picture(data, sniffed.mime, self._order.limits)
            self._made.width, self._made.height = picture.width, picture.height
            details.append(f"{picture.width}×{picture.height}")
            preview = pictures.decode_preview(picture)
        with self._step("renditions"), ThreadPoolExecutor(1) as beside:
            # The original takes as long as all the rest, and a machine has more than one core.
            original = None
            shown = preview
            if self._order.watermark:
                # A full-size picture without the text would defeat it.
                shown = watermarked(preview, self._order.watermark)
            else:
                original = beside.submit(pictures.write_original, picture)
            self._made.renditions += pictures.write_renditions(shown)
            rated = self._rate(preview)
            if original is not None:
                self._made.renditions.append(original.result())
        self._made.steps.append(rated)

    def _make_pdf(self, data: bytes) -> None:
        with self._step("decode"):
            page = first_page(data)
            self._made.width, self._made.height = page.width, page.height
        with self._step("renditions"):
            made = pictures.write_renditions(page)
            self._made.renditions += [each for each in made if each.kind != "blurred"]
            self._keep_upload("application/pdf")
        self._made.qr_texts = qr_texts(page)

    def _make_recording(self, data: bytes, sniffed: Sniffed) -> None:
        ffmpeg = self._tools.ffmpeg
        if ffmpeg is None:
            self._keep_recording(data, sniffed)
            return
        with self._step("decode") as details:
            recordings.keep_upload(data)
            probed = ffmpeg.probe(sniffed.mime)
            details += [each for each in (probed.video_codec, probed.audio_codec) if each]
            if probed.video_codec is None and probed.audio_codec is not None:
                self._made.media = "audio"
            self._made.mime = _own_mime(sniffed, self._made.media)
            limits = self._order.limits
            is_sound = self._made.media == "audio"
            longest_s = limits.voice_s if is_sound else limits.video_s
            recordings.check_length(probed.duration_ms, longest_s)
        if is_sound:
            self._make_sound(ffmpeg, sniffed.mime, longest_s)
        else:
            self._make_video(ffmpeg, sniffed.mime, longest_s, probed)

    def _keep_recording(self, data: bytes, sniffed: Sniffed) -> None:
        with self._step("decode", outcome="skipped") as details:
            details.append("FFmpeg is not installed; stored as it came")
        self._made.mime = _own_mime(sniffed, self._made.media)
        if self._made.media == "audio":
            self._measure_sound(data)
        self._keep_upload(self._made.mime)
        if self._made.media == "video":
            self._made.band, self._made.band_source = None, "unscanned"

    def _measure_sound(self, data: bytes) -> None:
        """What can be known without decoding it."""
        self._made.duration_ms = lengths.duration_ms(data, self._made.mime)
        recordings.check_length(self._made.duration_ms, self._order.limits.voice_s)
        if self._made.mime == "audio/wav":
            samples = lengths.wav_samples(data)
            self._made.peaks = None if samples is None else recordings.peaks(samples)

    def _make_video(self, ffmpeg: Ffmpeg, mime: str, longest_s: int, probed: Probed) -> None:
        with self._step("renditions"):
            frame = recordings.poster_frame(ffmpeg, mime, probed.duration_ms)
            picture = pictures.open_picture(frame, "image/jpeg", self._order.limits)
            self._made.width, self._made.height = picture.width, picture.height
            poster = pictures.decode_preview(picture)
            small, duration_ms = recordings.small_video(ffmpeg, mime, picture, longest_s)
            # The container may have said nothing, or something else.
            recordings.check_length(duration_ms, longest_s)
            self._made.duration_ms = duration_ms
            self._made.renditions += [*pictures.write_renditions(poster, "poster"), small]
            original = recordings.cleaned_video(ffmpeg, mime, picture, probed)
            if original is not None:
                self._made.renditions.append(original)
        self._made.steps.append(self._rate(poster))

    def _make_sound(self, ffmpeg: Ffmpeg, mime: str, longest_s: int) -> None:
        with self._step("renditions"):
            sound, duration_ms = recordings.clean_sound(
                ffmpeg, mime, self._order.purpose, longest_s
            )
            recordings.check_length(duration_ms, longest_s)
            self._made.duration_ms = duration_ms
            self._made.peaks = recordings.wave_form(ffmpeg, mime, longest_s)
            self._made.renditions.append(sound)

    def _rate(self, image: pyvips.Image) -> StepRecord:
        """A classifier that is missing or fails leaves the band open."""
        self._made.qr_texts = qr_texts(image)
        self._made.band, self._made.band_source = None, "unscanned"
        if self._tools.classifier is None:
            return StepRecord("band", "skipped", "no classifier")
        try:
            score = self._tools.classifier.score(image)
        except Exception as error:  # noqa: BLE001 (any failure means "unscanned")
            return StepRecord("band", "failed", str(error)[:200])
        self._made.band, self._made.band_source = band_of(score), "classifier"
        return StepRecord("band", "ok", f"score {score:.3f}")

    def _keep_upload(self, mime: str) -> None:
        self._made.renditions.append(AnsweredRendition("original", None, mime))

    @contextmanager
    def _step(self, step: Step, *, outcome: str = "ok") -> Iterator[list[str]]:
        """Records the step, whatever its end. What is appended to the list is its detail."""
        details: list[str] = []
        try:
            yield details
        except Exception as error:
            refusal = _refusal_for(error)
            text = f"{refusal.reason}: {refusal.detail}".rstrip(": ")
            self._made.steps.append(StepRecord(step, "failed", text))
            raise refusal from error
        self._made.steps.append(
            StepRecord(step, "skipped" if outcome == "skipped" else "ok", ", ".join(details))
        )


def _read(upload: int) -> bytes:
    with open(upload, "rb", closefd=False) as stream:
        data = stream.read(UPLOAD_BYTES + 1)
    if len(data) > UPLOAD_BYTES:
        raise RefusalError("too_large", f"more than {UPLOAD_BYTES} bytes")
    return data


def _refusal_for(error: Exception) -> RefusalError:
    """Whatever a decoder raises, it is because of this file."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, MemoryError):
        return RefusalError("too_large", "out of memory")
    return RefusalError("damaged", f"{type(error).__name__}: {error}"[:200])


def _own_mime(sniffed: Sniffed, media: Media) -> str:
    """A container holds sound alone or not; its type says which."""
    if sniffed.family == "recording" and media == "audio":
        return sniffed.mime.replace("video/quicktime", "video/mp4").replace("video/", "audio/")
    return sniffed.mime
