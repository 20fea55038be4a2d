"""Texts that people with bad intentions write, and what must not come of them."""

from playwright.async_api import Dialog, Page, Request

from .people import Person

# Whatever runs leaves this behind.
RUN = "window.hit=1"

SCRIPTS = (
    f"<script>{RUN}</script>",
    f"<ScRiPt src=https://evil.example/x.js></sCrIpT><script>{RUN}//",
    f'"><script>{RUN}</script>',
    f"';{RUN};//",
    f"</textarea></title></style><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'<img src="https://evil.example/pixel.png" onload="{RUN}">',
    f'<IMG """><SCRIPT>{RUN}</SCRIPT>">',
    f"<body onload={RUN}><input autofocus onfocus={RUN}>",
    f"<details open ontoggle={RUN}>open</details>",
    f'<video><source onerror="{RUN}"></video><audio src=x onerror={RUN}>',
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f'<iframe src="javascript:parent.{RUN}"></iframe><object data="javascript:{RUN}">',
    f'<form action="javascript:{RUN}"><button formaction="javascript:{RUN}">press</button></form>',
    '<style>@import "https://evil.example/x.css";</style>',
    "<link rel=stylesheet href=//evil.example><base href=//evil.example/>",
    '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
)
VECTORS = (
    f"<svg onload={RUN}><animate onbegin={RUN} attributeName=x dur=1s></svg>",
    f'<svg><a xlink:href="javascript:{RUN}"><text>press</text></a></svg>',
    f"<svg><script>{RUN}</script></svg>",
    f'<math><mtext></form><form><mglyph><style></math><img src onerror="{RUN}">',
    f'<math href="javascript:{RUN}">press</math>',
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>">',
    f'<svg></p><style><a id="</style><img src=1 onerror={RUN}>">',
    f'<template><script>{RUN}</script></template><xmp><p title="</xmp><img src=x onerror={RUN}>">',
    f"<!--><img src=x onerror={RUN}>--><![CDATA[<script>{RUN}</script>]]>",
    f"&lt;img src=x onerror={RUN}&gt; &#60;script&#62;{RUN}&#60;/script&#62;",
)
LINKS = (
    f"[press](javascript:{RUN})",
    f"[press](JaVaScRiPt&#58;{RUN}) [press](java\tscript:{RUN})",
    "[press](data:text/html;base64,PHNjcmlwdD53aW5kb3cuaGl0PTE8L3NjcmlwdD4=)",
    f"[press](vbscript:{RUN}) <javascript:{RUN}>",
    f'[press](https://good.example" onmouseover="{RUN})',
    f"![image](https://evil.example/pixel.png) [![x](x)](javascript:{RUN})",
    f"[ref]\n\n[ref]: javascript:{RUN}",
    "[https://bank.example](https://evil.example/login) https://bank.example@evil.example/",
    f"`<script>{RUN}</script>` **<img src=x onerror={RUN}>** > <script>{RUN}</script>",
)
TEMPLATES = (
    f"${{{RUN}}} {{{{constructor.constructor('{RUN}')()}}}} <%= {RUN} %> #{{{RUN}}}",
    "lit$1$ <!--?lit$2$--> ?lit$ {{__proto__}} %s %00 \\u003cscript\\u003e",
)
LAYOUT = (
    "\u202egnp.exe \u2066isolated \u2067never closed \u202d",
    "مرحبا بالعالم hello שלום עולם 123",
    "w" * 2000,
    "https://example.com/" + "a" * 1900,
    "Z" + "\u0351\u0352\u0353\u0354\u0355\u0356\u0357\u0358\u0359" * 60 + "algo",
    "🦄" * 2000,
    "👩‍👩‍👧‍👦" * 150,
    "a\n" * 300,
    "\u00a0" * 500 + "end",
)
CORPUS = (*SCRIPTS, *VECTORS, *LINKS, *TEMPLATES, *LAYOUT)

AVATARS = (
    f"javascript:{RUN}",
    f"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='{RUN}'/>",
    f'x" onerror="{RUN}',
    "//",
    "http://[",
    "blob:null/x",
)

# What never belongs into somebody's words, wherever in the page it is.
FIND_FOREIGN = """
() => {
  const found = [];
  const look = (root) => {
    for (const element of root.querySelectorAll('*')) {
      const isOurs = element.localName === 'greenroom-avatar' || element.closest('svg.icon');
      if (element.shadowRoot) look(element.shadowRoot);
      const names = element.getAttributeNames();
      const handlers = names.filter((name) => /^on/.test(name) && name in window);
      if (handlers.length > 0) found.push(`${element.localName} has ${handlers}`);
      for (const name of ['href', 'src', 'action', 'formaction', 'xlink:href']) {
        const address = element.getAttribute(name) ?? '';
        if (/^\\s*(javascript|data|vbscript|blob):/i.test(address)) found.push(address);
      }
      if (isOurs || root === document) continue;
      const inText = element.closest('.rich');
      const allowed = 'p,br,strong,em,code,pre,a,ul,ol,li,blockquote,span';
      if (inText && element !== inText && !element.matches(allowed)) found.push(element.outerHTML);
    }
  };
  look(document);
  return found;
}
"""
# Wider than what it is in: the page itself, and whatever scrolls up and down in it.
FIND_WIDE = """
() => {
  const found = [];
  const right = (element) => element.getBoundingClientRect().right;
  const inside = (root) => [...root.querySelectorAll('*')].flatMap((element) => [
    element,
    ...(element.shadowRoot ? inside(element.shadowRoot) : []),
  ]);
  const look = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) look(element.shadowRoot);
      const { overflowY, overflowX } = getComputedStyle(element);
      const isScroller = overflowY === 'auto' || overflowY === 'scroll';
      const isMeantSo = element.matches('pre, [role=tablist]') || overflowX === 'hidden';
      if (!isScroller || isMeantSo || element.scrollWidth <= element.clientWidth) continue;
      const widest = inside(element).sort((one, other) => right(other) - right(one))[0];
      found.push(`${element.className}: ${widest?.localName} ${widest?.textContent.trim()}`);
    }
  };
  look(document);
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} wide`);
  return found;
}
"""


class Watch:
    """Looks at a page from its beginning."""

    def __init__(self, person: Person, home: str) -> None:
        self._page: Page = person.page
        self._home = home
        self._asked: list[str] = []
        self._dialogs: list[str] = []
        person.page.on("request", self._request)
        person.page.on("dialog", self._dialog)
        person.context.on("page", lambda page: self._asked.append(f"a new window: {page.url}"))

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self._home, self._home.replace("http", "ws", 1))):
            self._asked.append(request.url)

    async def _dialog(self, dialog: Dialog) -> None:
        self._dialogs.append(dialog.message)
        await dialog.dismiss()

    async def harm(self) -> list[str]:
        """What ran, asked somebody else, is foreign to the page, or does not fit into the window.
        Errors and violations of the policy fail a test by themselves."""
        page = self._page
        ran = ["something ran"] if await page.evaluate("window.hit") is not None else []
        left = [] if page.url.startswith(self._home) else [f"the page is now {page.url}"]
        foreign: list[str] = await page.evaluate(FIND_FOREIGN)
        wide: list[str] = await page.evaluate(FIND_WIDE)
        return [*ran, *self._dialogs, *self._asked, *left, *foreign, *wide]
