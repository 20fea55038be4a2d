"""The composition root of files: the blob store, uploads, viewing, processing and upkeep."""

from collections.abc import Sequence

from asyncpg import Pool

from greenroom.accounts.store import AccountStore
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.thread_updates import ThreadUpdates
from greenroom.conversations.upkeep import ConversationUpkeep
from greenroom.files.actions import Files
from greenroom.files.blob_rest import BlobRest
from greenroom.files.media.clamav import ClamAv
from greenroom.files.media.process import MediaProcess, MediaRunner
from greenroom.files.postgres.store import PROCESS, PostgresFiles
from greenroom.files.processing import Processing
from greenroom.files.removal import Removal
from greenroom.files.rest import FilesRest
from greenroom.files.signed_urls import BlobSigner
from greenroom.files.sweeping import Sweeping
from greenroom.files.upkeep import FilesUpkeep
from greenroom.files.uploads import Uploads
from greenroom.files.viewing import Viewing
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.maintenance import Round
from greenroom.platform.backoff import Backoff
from greenroom.platform.blobs.port import BlobStore
from greenroom.platform.embedded.s3.opening import open_blobs
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.tasks.runner import TaskRunner
from greenroom.platform.tasks.table import Task
from greenroom.platform.tokens.verifying import load_or_create_secret
from greenroom.settings import Settings, server_url


class FileRooms:
    """Files, wired together."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        thread_updates: ThreadUpdates,
        conversations: ConversationStore,
        holds: ConversationUpkeep,
        people: AccountStore,
        *,
        clock: Clock,
        randomness: Randomness,
        media: MediaRunner | None = None,
    ) -> None:
        limits, work = settings.limits, settings.home / "work"
        public_url = settings.public_url or server_url(settings, settings.port)
        self._limits = limits
        self._clock = clock
        self.blobs: BlobStore = open_blobs(
            settings.home, settings.blob_place, settings.s3_endpoint, settings.s3_region
        )
        self._signer = BlobSigner(blobs_secret(settings), public_url)
        store = PostgresFiles(pool, thread_updates, clock=clock, limits=limits)
        removal = Removal(store, self.blobs, conversations)
        uploads = Uploads(
            *(store, self.blobs, self._signer, removal),
            clock=clock,
            randomness=randomness,
            limits=limits,
        )
        viewing = Viewing(
            *(store, self.blobs, conversations, people, self._signer),
            clock=clock,
            limits=limits,
            unscanned_band=settings.unscanned_band,
            expire_days=settings.files_expire_days,
        )
        self.store = store
        self.files = Files(
            *(store, uploads, viewing, removal, holds), public_url=public_url, limits=limits
        )
        clamav = None if settings.clamav_url is None else ClamAv(settings.clamav_url)
        media = media or MediaProcess(clamav=clamav, at_once=limits.file_jobs_at_once)
        self.processing = Processing(*(store, self.blobs, removal, media), work=work, limits=limits)
        self.sweeping = Sweeping(
            *(store, self.blobs, removal, holds),
            work=work,
            clock=clock,
            limits=limits,
            expire_days=settings.files_expire_days,
        )
        self.upkeep = FilesUpkeep(
            *(store, self.blobs, removal, self.sweeping, holds), clock=clock, limits=limits
        )

    def runner(self, pool: Pool) -> TaskRunner:
        """Does the tasks of files, a few at a time."""
        limits = self._limits
        tasks = TaskRunner(
            pool,
            clock=self._clock,
            backoff=Backoff(attempts=limits.job_attempts),
            concurrency=limits.file_jobs_at_once,
        )
        tasks.register(PROCESS, self.processing.run)
        return tasks

    async def process_now(self, file_id: str) -> None:
        """As its task would; that one then has nothing left to do."""
        now_ms = self._clock()
        await self.processing.run(Task(0, PROCESS, file_id, None, now_ms, 0, 0, 0))

    def pruning(self) -> Sequence[Round]:
        return (self.sweeping.sweep_files, self.sweeping.sweep_orphans)

    def endpoints(self) -> list[Endpoint]:
        return FilesRest(self.files).endpoints()

    def blob_endpoints(self) -> list[Endpoint]:
        """Their addresses come out of other answers, so they are not part of the API's
        reference."""
        return BlobRest(
            self.files, self.blobs, self._signer, clock=self._clock, limits=self._limits
        ).endpoints()

    async def close(self) -> None:
        await self.processing.close()
        await self.blobs.close()


def blobs_secret(settings: Settings) -> bytes:
    """What addresses of `/blobs` are signed with. Servers that share the secret of tokens share
    this one too."""
    if settings.jwt_secret is not None:
        return settings.jwt_secret.encode()
    settings.home.mkdir(parents=True, exist_ok=True)
    return load_or_create_secret(settings.home / "blobs-secret")
