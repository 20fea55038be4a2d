"""The part of XMPP that two people need to chat: log in, send with acknowledgement, receive.

Plain text on loopback (RFC 6120, SASL PLAIN). Acknowledgements are those of stream management
(XEP-0198): `<r/>` asks, and `<a h="n"/>` says that n stanzas have been handled.
"""

import asyncio
import base64
from collections.abc import Callable, Iterator
from typing import cast
from xml.etree.ElementTree import Element, XMLPullParser
from xml.sax.saxutils import escape

HOST = "localhost"
SM = "urn:xmpp:sm:3"
CLIENT = "{jabber:client}"


class XmppStream(asyncio.Protocol):
    """Queues stanzas, and the loss of the connection, for `next_stanza` or a listener."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Element | Exception] = asyncio.Queue()
        self.heard: Callable[[Element], None] = self._waiting.put_nowait
        self.lost: Callable[[Exception], None] = self._waiting.put_nowait
        self._transport: asyncio.Transport | None = None
        self._closing = False
        self._restart()

    def _restart(self) -> None:
        self._parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
        self._depth = 0
        self._root: Element | None = None

    async def next_stanza(self, tag: str) -> Element:
        """The next stanza. Raises unless it has this name."""
        stanza = await self._waiting.get()
        if isinstance(stanza, Exception):
            raise stanza
        if stanza.tag.rpartition("}")[2] != tag:
            raise ConnectionError(f"expected <{tag}>, got <{stanza.tag}>")
        return stanza

    async def log_in(self, user: str, password: str) -> None:
        self._open()
        await self.next_stanza("features")
        secret = base64.b64encode(f"\0{user}\0{password}".encode()).decode()
        self.write(
            f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{secret}</auth>"
        )
        await self.next_stanza("success")
        self._restart()
        self._open()
        await self.next_stanza("features")
        self.write(
            "<iq type='set' id='bind'>"
            "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>bench</resource></bind></iq>"
        )
        bound = await self.next_stanza("iq")
        if bound.get("type") != "result":
            raise ConnectionError("the server did not bind a resource")

    def _open(self) -> None:
        self.write(
            f"<?xml version='1.0'?><stream:stream to='{HOST}' version='1.0' "
            "xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"
        )

    def write(self, xml: str) -> None:
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("the stream is closed")
        self._transport.write(xml.encode())

    def close(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        events = cast("Iterator[tuple[str, Element]]", self._parser.read_events())
        for event, element in events:
            self._take(event, element)

    def _take(self, event: str, element: Element) -> None:
        if event == "start":
            self._depth += 1
            if self._depth == 1:
                self._root = element
            return
        self._depth -= 1
        if self._depth == 1 and self._root is not None:
            # Otherwise the parser would keep all earlier stanzas.
            self._root.clear()
            self.heard(element)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._closing:
            self.lost(error or ConnectionError("the server closed the stream"))


class XmppSender:
    """Sends and waits for the acknowledgement, one at a time."""

    def __init__(self, stream: XmppStream, to: str) -> None:
        self._stream = stream
        self._to = to
        self._turn = asyncio.Lock()
        self._sent = 0
        self._acknowledged: asyncio.Future[None] | None = None

    async def start(self) -> None:
        self._stream.write(f"<enable xmlns='{SM}'/>")
        await self._stream.next_stanza("enabled")
        self._stream.heard, self._stream.lost = self._hear, self._fail

    async def send(self, text: str) -> None:
        async with self._turn:
            self._sent += 1
            self._acknowledged = asyncio.get_running_loop().create_future()
            self._stream.write(
                f"<message type='chat' to='{self._to}@{HOST}' id='m{self._sent}'>"
                f"<body>{escape(text)}</body></message><r xmlns='{SM}'/>"
            )
            await self._acknowledged

    def _hear(self, stanza: Element) -> None:
        waiting = self._acknowledged
        if waiting is None or waiting.done():
            return
        if stanza.tag == f"{{{SM}}}a" and int(stanza.get("h", "0")) >= self._sent:
            waiting.set_result(None)
        elif stanza.tag == f"{CLIENT}message" and stanza.get("type") == "error":
            self._fail(RuntimeError("the server returned the message"))

    def _fail(self, error: Exception) -> None:
        if self._acknowledged is not None and not self._acknowledged.done():
            self._acknowledged.set_exception(error)


async def receive(
    stream: XmppStream, arrived: Callable[[str], None], broke: Callable[[Exception], None]
) -> None:
    """Send presence; from then on the bodies of messages go to `arrived`."""
    stream.write("<presence/>")
    # The server echoes one's own presence, so it has processed it.
    await stream.next_stanza("presence")

    def hear(stanza: Element) -> None:
        if stanza.tag == f"{CLIENT}message":
            arrived(stanza.findtext(f"{CLIENT}body", ""))

    stream.heard, stream.lost = hear, broke
