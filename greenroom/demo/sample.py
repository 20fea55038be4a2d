"""Loads the sample by playing its scenes through the product's own actions, in the order of time.

Nothing is written into a store directly, so the data are exactly what the product writes. An action
that is played a second time changes nothing.
"""

import random
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

from greenroom.bootstrap import Rooms
from greenroom.conversations.attachments import uses_in_messages
from greenroom.conversations.inbox import InboxChanges
from greenroom.conversations.model import Message, Role, ThreadKind
from greenroom.demo.accounts import put_people
from greenroom.demo.cues import Cue, cues
from greenroom.demo.deals import Deals
from greenroom.demo.loading import Begun, Loading
from greenroom.demo.media.album import FILES
from greenroom.demo.media.developing import DarkRoom, purpose_of
from greenroom.demo.opening import loading_alone, open_loading
from greenroom.demo.progress import Progress
from greenroom.demo.script import CONTRACT_VERBS, latest_day, with_dates
from greenroom.demo.uploads import SampleUploads
from greenroom.files.media.process import MediaProcess
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import Internal
from greenroom.kernel.ids import RANDOM_BITS, encode_random, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept
from greenroom.settings import Settings

PATIENCE_S = 2
POLICY = "168:100,48:50,0:0"

# Commits wait for the disk only at the end: a load that a crash interrupts is continued later.
_UNHURRIED = {"synchronous_commit": "off"}


async def load_sample(
    settings: Settings, database_url: str, *, seed: int = 1, clock: Clock = system_clock
) -> bool:
    """Load the sample; False if it is there already.

    Loading again changes nothing, even days later and whatever people have done with the sample. An
    interrupted load is continued, with the times of its beginning.
    """
    async with open_loading(settings, database_url) as loading, loading_alone(loading.accounts):
        begun = await loading.begin(seed, latest_day(clock()))
        if begun.is_whole:
            return False
        await put_people(loading.accounts, begun.last_day)
        await Play(settings, database_url, loading, begun).run(clock())
        return True


class Play:
    def __init__(
        self, settings: Settings, database_url: str, loading: Loading, begun: Begun
    ) -> None:
        self._loading = loading
        self._seed = begun.seed
        self._last_day = begun.last_day
        self._now_ms = 0
        self._dice = random.Random(begun.seed)  # noqa: S311
        self._threads: dict[str, str] = {}
        self._messages: dict[tuple[str, int], str] = {}
        self._last_of: dict[tuple[str, str | None], str] = {}
        # The sample uses the default limits and card types, and the sandbox for payments, whatever
        # is configured.
        settings = replace(
            settings,
            limits=Limits(),
            require_job=False,
            cards=None,
            cancellation_policy=POLICY,
            payments_url=None,
        )
        self._dark_room = DarkRoom(MediaProcess(at_once=settings.limits.file_jobs_at_once))
        self._rooms = Rooms(
            settings,
            _with_settings(database_url, _UNHURRIED),
            clock=lambda: self._now_ms,
            randomness=lambda: encode_random(self._dice.getrandbits(RANDOM_BITS)),
            media=self._dark_room,
        )
        # Bookings are in PostgreSQL for every store. The store's name is part of their keys, so
        # that samples of two stores do not collide.
        self._store = settings.conversations
        table = settings.dynamodb_table if self._store == "dynamodb" else "thread"
        self._place = f"{self._store}/{table}"
        self._uploads = SampleUploads(self._rooms.files, self._dark_room, self._place)
        self._deals = Deals(self._rooms.contract, self._uploads, self._place, begun.last_day)

    async def run(self, now_ms: int) -> None:
        play = cues(self._seed, self._last_day)
        progress = Progress(len(play), "steps of the sample", quiet_s=PATIENCE_S)
        async with self._dark_room, self._rooms:
            # First finish what an interrupted load left half done.
            self._now_ms = now_ms
            await self._rooms.store.settle()
            await self._deals.take_up()
            for place, cue in enumerate(play):
                await self._let_pass(cue.at_ms)
                self._throw(self._store, place)
                if cue.step.verb in CONTRACT_VERBS:
                    await self._deal(cue, place)
                elif cue.step.verb == "sends":
                    await self._send_files(cue, place)
                else:
                    await self._act(cue)
                progress.advance(1)
            await self._let_pass(now_ms)
            await self._deals.run_worker()
            # Prune old feed entries, as a server would have done meanwhile.
            while (await self._rooms.store.prune()).get("feed"):
                pass
        await self._loading.finish(now_ms)

    async def _let_pass(self, until_ms: int) -> None:
        """Move the clock to `until_ms`, and run the timers on the way at their times."""
        while (due_ms := await self._deals.next_timer_ms()) is not None and due_ms <= until_ms:
            # An overdue timer runs now, because the clock must not go back.
            self._now_ms = max(self._now_ms, due_ms)
            self._throw(self._place, due_ms)
            await self._deals.run_worker()
        self._now_ms = until_ms

    def _throw(self, *what: str | int) -> None:
        """Reseed the random numbers, so that a continued load gets the same as an uninterrupted
        one."""
        self._dice.seed("/".join(str(each) for each in (self._seed, *what)))

    async def _deal(self, cue: Cue, place: int) -> None:
        self._throw(self._place, place)
        await self._deals.play(cue, self._threads[cue.scene.key])
        if self._deals.may_pay(cue):
            self._throw(self._place, place, "paid")
            await self._deals.run_worker()

    async def _act(self, cue: Cue) -> None:
        who, thread_id = cue.step.who or "", self._threads.get(cue.scene.key)
        if thread_id is None:
            await self._start(cue)
        elif cue.step.verb in ("says", "replies"):
            await self._say(cue, who, thread_id)
        elif cue.step.verb in ("edits", "deletes"):
            await self._amend(cue, who, thread_id)
        elif cue.step.verb == "reads":
            await self._read(cue, who, thread_id)
        elif cue.step.verb == "adds":
            newcomer, _, role = cue.step.args
            await self._rooms.conversations.add_participant(who, thread_id, newcomer, Role(role))
        else:
            changes = _ROW_CHANGES[cue.step.verb]
            await self._rooms.conversations.set_inbox_row(who, thread_id, changes)

    async def _start(self, cue: Cue) -> None:
        scene = cue.scene
        started = await self._rooms.conversations.start_thread(
            scene.opener,
            kind=ThreadKind(scene.kind),
            to=[scene.to],
            client_id=cue.client_id,
            body=self._text(cue),
            subject=scene.subject,
            role_context=scene.role_context,
        )
        if isinstance(started, Kept):
            raise Internal
        self._threads[scene.key] = started.thread.id
        await self._loading.set_city(started.thread.id, scene.city, cue.at_ms)
        self._note(cue, started.message)

    async def _say(self, cue: Cue, who: str, thread_id: str) -> None:
        reply_to = None
        if cue.step.verb == "replies":
            reply_to = self._messages[cue.scene.key, int(cue.step.args[0])]
        sent = await self._rooms.conversations.send(
            who, thread_id, client_id=cue.client_id, body=self._text(cue), reply_to=reply_to
        )
        self._note(cue, sent.message)

    async def _send_files(self, cue: Cue, place: int) -> None:
        thread_id = self._threads[cue.scene.key]
        # Files are in PostgreSQL for every store.
        self._throw(self._place, place)
        files = [
            await self._uploads.upload(cue, thread_id, name, purpose_of(FILES[name]))
            for name in cue.step.args
        ]
        self._throw(self._store, place)
        sent = await self._rooms.conversations.send(
            cue.step.who or "",
            thread_id,
            client_id=cue.client_id,
            body=self._text(cue),
            attachments=files,
        )
        # As the answer to a send does: from then on the files are known as shown there.
        await self._rooms.files.files.look(cue.step.who, uses_in_messages([sent.message]))
        self._note(cue, sent.message)

    def _note(self, cue: Cue, message: Message) -> None:
        self._messages[cue.scene.key, cue.number] = message.id
        self._last_of[cue.scene.key, cue.step.who] = message.id

    async def _read(self, cue: Cue, who: str, thread_id: str) -> None:
        """Mark read up to the last message of that time. In a continued load there may be newer
        ones already."""
        conversations = self._rooms.conversations
        until = make_id("msg", cue.at_ms, "")
        page = await conversations.access_messages(who, thread_id, before=until, limit=1)
        await conversations.mark_read(who, thread_id, page.items[-1].id)

    async def _amend(self, cue: Cue, who: str, thread_id: str) -> None:
        message_id = self._last_of[cue.scene.key, who]
        conversations = self._rooms.conversations
        if cue.step.verb == "edits":
            await conversations.edit_message(who, thread_id, message_id, self._text(cue))
        else:
            await conversations.delete_message(who, thread_id, message_id)

    def _text(self, cue: Cue) -> str:
        return with_dates(cue.step.text, self._last_day, cue.scene.zone)


_ROW_CHANGES = {
    "stars": InboxChanges(starred=True),
    "pins": InboxChanges(pinned=True),
    "archives": InboxChanges(archived=True),
}


def _with_settings(database_url: str, settings: dict[str, str]) -> str:
    parts = urlsplit(database_url)
    query = "&".join(filter(None, (parts.query, urlencode(settings))))
    return parts._replace(query=query).geturl()
