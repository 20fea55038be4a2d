/** The one place that turns the server's HTML into elements. To be read by whoever audits the page.
 *
 * The text is parsed into a document of its own, where nothing runs and nothing loads. From there
 * only what is listed below is copied, element by element, into new ones; everything else is left
 * behind, its text stays. No string ever becomes HTML in the page itself. */

const ELEMENTS = new Set([
  'p', 'br', 'strong', 'em', 'code', 'pre', 'a', 'ul', 'ol', 'li', 'blockquote',
]); // prettier-ignore
const SILENT = new Set(['script', 'style', 'template', 'noscript', 'iframe', 'svg', 'math']);
const PROTOCOLS = new Set(['http:', 'https:', 'mailto:', 'tel:']);
const DEEPEST = 20;

/** `body` is shown as it is where the page does not let us parse. */
export function richText(html: string, body: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const plain = ONLY_WORDS.exec(html)?.[1];
  if (plain !== undefined) return wordsOnly(plain, fragment);
  const parsed = parse(html);
  if (parsed) copy(parsed.body, fragment, 0);
  else copyPlain(body, fragment);
  return fragment;
}

/** What `richText` shows, in one line: for quotes, and to be read aloud. The server makes the
 * previews of lists from the same Markdown. */
export function plainText(html: string, body: string): string {
  return [...wordsOf(richText(html, body))].join('').replace(/\s+/gu, ' ').trim();
}

const BLOCKS = new Set(['p', 'br', 'pre', 'ul', 'ol', 'li', 'blockquote']);

function* wordsOf(from: Node): Iterable<string> {
  for (const node of from.childNodes) {
    if (node instanceof Text) yield node.data;
    if (!(node instanceof HTMLElement)) continue;
    const isBlock = BLOCKS.has(node.localName);
    if (isBlock) yield ' ';
    if (node.localName === 'li') yield markOf(node);
    if (node instanceof HTMLAnchorElement && node.textContent === '') yield node.href;
    yield* wordsOf(node);
    if (isBlock) yield ' ';
  }
}

/** A number that somebody wrote can be a date: it stays. */
function markOf(item: HTMLElement): string {
  const list = item.parentElement;
  if (!(list instanceof HTMLOListElement)) return '• ';
  return `${list.start + [...list.children].indexOf(item)}. `;
}

/** Most messages are one paragraph without any mark, which needs no parser: a document takes long. */
const ONLY_WORDS = /^<p>([^<&]*)<\/p>\s*$/;

function wordsOnly(words: string, to: DocumentFragment): DocumentFragment {
  to.appendChild(document.createElement('p')).textContent = words;
  return to;
}

function copyPlain(body: string, to: DocumentFragment): void {
  body.split('\n').forEach((line, index) => {
    if (index > 0) to.append(document.createElement('br'));
    to.append(line);
  });
}

function copy(from: Node, to: Node, depth: number): void {
  for (const node of from.childNodes) {
    if (node instanceof Text) to.appendChild(document.createTextNode(node.data));
    if (!(node instanceof Element) || SILENT.has(node.localName)) continue;
    if (depth >= DEEPEST) to.appendChild(document.createTextNode(node.textContent));
    else if (node.localName === 'a') copyLink(node, to, depth);
    else if (ELEMENTS.has(node.localName)) {
      copy(node, to.appendChild(elementLike(node)), depth + 1);
    } else copy(node, to, depth + 1);
  }
}

function elementLike(node: Element): Element {
  const made = document.createElement(node.localName);
  const start = Number(node.getAttribute('start'));
  if (made instanceof HTMLOListElement && Number.isSafeInteger(start) && start > 1) {
    made.start = start;
  }
  return made;
}

/** A link that is not to the web, to mail or to a phone is only its text. */
function copyLink(from: Element, to: Node, depth: number): void {
  const url = safeAddress(from.getAttribute('href') ?? '');
  if (!url) return copy(from, to, depth + 1);
  const link = document.createElement('a');
  link.href = url.href;
  link.title = url.href;
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow ugc';
  copy(from, link, depth + 1);
  to.appendChild(link);
  if (!isDisguised(link.textContent, url)) return;
  const host = document.createElement('span');
  host.className = 'host';
  host.textContent = ` (${url.host || url.pathname})`;
  to.appendChild(host);
}

export function safeAddress(href: string): URL | null {
  const url = URL.canParse(href) ? new URL(href) : null;
  return url && PROTOCOLS.has(url.protocol) ? url : null;
}

/** Whether the words of a link name another site than the one it goes to. */
export function isDisguised(words: string, url: URL): boolean {
  if (url.username) return true;
  const target = url.host ? url.hostname : (url.pathname.split('@').at(-1) ?? '');
  const whole = safeAddress(words.trim());
  const named = whole?.host ? [whole.hostname] : words.match(NAMES_OF_SITES);
  return (named ?? []).some((name) => bare(name) !== bare(target));
}

const NAMES_OF_SITES = /(?:[\p{L}\p{N}_-]+[.。．])+[\p{L}\p{N}-]{2,}/gu;

/** URL writes letters of other scripts in its own way, so that look-alikes differ. */
function bare(site: string): string {
  const host = URL.canParse(`https://${site}`) ? new URL(`https://${site}`).hostname : site;
  return host.toLowerCase().replace(/^www\./u, '');
}

interface Policy {
  createHTML(html: string): string;
}

let policy: Policy | undefined;
let isForbidden = false;

/** Null where the page's own rules forbid it; they are asked once. */
function parse(html: string): Document | null {
  if (isForbidden) return null;
  policy ??= newPolicy();
  try {
    return new DOMParser().parseFromString(policy.createHTML(html), 'text/html');
  } catch {
    isForbidden = true;
    return null;
  }
}

/** Trusted Types want to know by name who makes HTML of strings. It only ever goes to `parse`. */
function newPolicy(): Policy {
  const plain: Policy = { createHTML: (html) => html };
  const { trustedTypes } = globalThis as unknown as {
    trustedTypes?: { createPolicy(name: string, rules: Policy): Policy };
  };
  try {
    return trustedTypes?.createPolicy('greenroom', plain) ?? plain;
  } catch {
    return plain;
  }
}
