"""The words of the web app and of the catalogue, and which of them a page shows."""

import json
import subprocess
from typing import Any

from playwright.async_api import Page

from tools.demo import Demo
from tools.webapp import BIN, REPOSITORY

PRINT_WORDS = """
import { en } from './web/app/src/i18n/en/index.ts';
import { de } from './web/app/src/i18n/de/index.ts';
console.log(JSON.stringify({ en, de }));
"""
# What is read or heard: texts, names, placeholders. What is hidden may be shown next.
READ_PAGE = """
() => {
  const found = new Set();
  const collect = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.TEXT_NODE) found.add(node.data);
      else {
        for (const name of ['aria-label', 'aria-description', 'placeholder', 'title', 'alt']) {
          found.add(node.getAttribute(name) ?? '');
        }
        if (node.shadowRoot) collect(node.shadowRoot);
      }
    }
  };
  collect(document);
  return [...found].map((text) => text.replace(/\\s+/g, ' ').trim()).filter(Boolean);
}
"""


def english_only(demo: Demo) -> set[str]:
    """Texts that English has and German has not, of the app and of the cards."""
    done = subprocess.run(
        [BIN / "node", "--input-type=module", "--eval", PRINT_WORDS],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    words = json.loads(done.stdout)
    cards = {
        locale: demo.call("maya", "GET", f"/v1/cards/catalogue?locale={locale}")
        for locale in ("en", "de")
    }
    german = set(leaves(words["de"])) | set(labels(cards["de"]))
    return (set(leaves(words["en"])) | set(labels(cards["en"]))) - german


def leaves(words: Any) -> list[str]:
    """Functions are not among them: what they make differs each time."""
    if isinstance(words, str):
        return [words] if words else []
    inner = words.values() if isinstance(words, dict) else words
    return [text for each in inner for text in leaves(each)]


def labels(catalogue: Any) -> list[str]:
    """What the catalogue says to people; its other texts are for machines."""
    if isinstance(catalogue, list):
        return [text for each in catalogue for text in labels(each)]
    if not isinstance(catalogue, dict):
        return []
    own = [catalogue[key] for key in ("title", "label") if isinstance(catalogue.get(key), str)]
    return own + [text for each in catalogue.values() for text in labels(each)]


async def shown_on(page: Page) -> set[str]:
    return set(await page.evaluate(READ_PAGE))
