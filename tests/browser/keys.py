"""A person without a mouse: presses keys, and always sees where they are."""

import re

from playwright.async_api import Page

from .people import PATIENCE_MS

MOST_TABS = 80
# The element with the focus, through all shadow roots; null when it is lost.
FOCUSED = """
(() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element === document.body || element === document.documentElement ? null : element;
})()
"""
IS_SOMEWHERE = f"() => {FOCUSED} !== null"
NAME = f"""
() => {{
  const element = {FOCUSED};
  if (!element) return '';
  const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(' ');
  const named = element.getRootNode().getElementById(element.getAttribute('aria-labelledby'));
  const text = named?.textContent ?? element.getAttribute('aria-label')
    ?? (labels || element.textContent);
  return text.replace(/\\s+/g, ' ').trim();
}}
"""
# A ring around it, or around the frame that it stands in; on the screen, and not below something.
IS_SEEN = f"""
() => {{
  const element = {FOCUSED};
  if (!element) return false;
  const up = (each) => each.parentElement ?? each.getRootNode().host ?? null;
  const frames = [element, element.closest('label')?.querySelector('span')].filter(Boolean);
  let frame = element;
  for (let step = 0; step < 4 && frame; step += 1, frame = up(frame)) frames.push(frame);
  const hasRing = frames.some((each) => {{
    const {{ outlineStyle, outlineWidth, boxShadow, borderTopColor }} = getComputedStyle(each);
    const isOutlined = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
    return isOutlined || / 0px 0px 0px [12]px/.test(boxShadow)
      || (each.localName === 'form' && each.matches(':focus-within') && borderTopColor !== '');
  }});
  const {{ left, top, right, bottom }} = element.getBoundingClientRect();
  const isOnScreen = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
  return hasRing && isOnScreen;
}}
"""


class Keys:
    """The only hands of a person in a keyboard-only run."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self._page.keyboard.press(key)
            await self._page.wait_for_function(IS_SOMEWHERE, timeout=PATIENCE_MS)

    async def type(self, text: str) -> None:
        await self._page.keyboard.type(text)
        await self.is_seen()

    async def tab_to(self, name: str, *, back: bool = False) -> None:
        """Further and further until the focus is on something of that name."""
        passed: list[str] = []
        for _ in range(MOST_TABS):
            await self.press("Shift+Tab" if back else "Tab")
            await self.is_seen()
            passed.append(await self.place())
            if re.search(name, passed[-1]):
                return
        raise AssertionError(f"no way to {name!r}; passed {passed}")

    async def is_at(self, name: str) -> None:
        """The focus has come to something of that name, and is seen there."""
        await self._page.wait_for_function(
            f"(pattern) => new RegExp(pattern).test(({NAME})())", arg=name, timeout=PATIENCE_MS
        )
        await self.is_seen()

    async def is_seen(self) -> None:
        await self._page.wait_for_function(IS_SEEN, timeout=PATIENCE_MS)

    async def place(self) -> str:
        name: str = await self._page.evaluate(NAME)
        return name
