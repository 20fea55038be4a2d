"""What a machine can see of a layout: boxes that leave the screen, targets that a finger misses."""

from playwright.async_api import Page

# Every element that is drawn, through all shadow roots, with the elements around it.
WALK = """
function* drawn(root, around = []) {
  for (const element of root.children) {
    const style = getComputedStyle(element);
    if (style.display === 'none' || style.opacity === '0') continue;
    const path = [...around, element];
    const { width, height } = element.getBoundingClientRect();
    const isHidden = style.visibility === 'hidden' || style.clipPath !== 'none';
    if (!isHidden && width > 0 && height > 0) yield { element, path, style };
    yield* drawn(element.shadowRoot ?? element, path);
    if (element.shadowRoot) yield* drawn(element, path);
  }
}
const nameOf = (path) => path.slice(-3).map((each) => each.localName
  + [...each.classList].map((name) => '.' + name).join('')).join(' ');
"""
# A strip of tabs or a block of code scrolls sideways by itself, and what is cut says so with dots.
WIDER = (
    WALK
    + """
const scrollsAlone = (each) => each.matches('[role=tablist], pre, .visually-hidden')
  || getComputedStyle(each).textOverflow === 'ellipsis';
const found = [];
if (document.scrollingElement.scrollWidth > innerWidth) found.push('the page itself');
for (const { element, path } of drawn(document.body)) {
  if (path.some(scrollsAlone)) continue;
  const { left, right, width } = element.getBoundingClientRect();
  if (left < -1 || right > innerWidth + 1) {
    found.push(`${nameOf(path)}: ${left} to ${right} of ${innerWidth}`);
  }
}
found
"""
)
# Links inside a text may be as small as its letters; a field in a label is pressed by the label.
TARGETS = (
    WALK
    + """
const PRESSED = 'button, a[href], input, select, textarea, summary, [role=tab]';
const found = [];
for (const { element, path, style } of drawn(document.body)) {
  if (!element.matches(PRESSED) || element.disabled || style.pointerEvents === 'none') continue;
  if (element.localName === 'a' && style.display === 'inline') continue;
  const target = element.matches('input') ? (element.closest('label') ?? element) : element;
  const { width, height } = target.getBoundingClientRect();
  found.push({
    name: element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 40),
    where: nameOf(path), width, height,
  });
}
found
"""
)


async def wider_than_the_screen(page: Page) -> list[str]:
    """Elements that leave the screen at a side, or make it scroll sideways."""
    found: list[str] = await page.evaluate(_as_function(WIDER))
    return found


async def targets_below(page: Page, least_px: int) -> list[str]:
    """What can be pressed and is smaller than that in one direction."""
    found = await page.evaluate(_as_function(TARGETS))
    return [
        f"{each['where']} ({each['name']}): {each['width']:.0f} × {each['height']:.0f}"
        for each in found
        if min(each["width"], each["height"]) < least_px - 0.5
    ]


def _as_function(script: str) -> str:
    """With the last line as its result."""
    lines = script.strip().splitlines()
    return "() => {" + "\n".join([*lines[:-1], f"return {lines[-1]};"]) + "}"
