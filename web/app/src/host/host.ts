/** The marketplace's own script: who is signed in here. The elements come from Greenroom's server;
 * only their types are known here. */

import type { configure, signOut } from '../session/session.ts';

interface Person {
  user_id: string;
  display_name: string;
  role: string;
}

interface Embed {
  configure: typeof configure;
  signOut: typeof signOut;
}

const PERSON = 'lens.person';
const UNREACHABLE = 'Messages are not available just now. Please reload the page in a moment.';

const server =
  document.querySelector<HTMLMetaElement>('meta[name="greenroom-server"]')?.content ?? '';
const select = byId<HTMLSelectElement>('person');
const chat = byId('chat');

void start();

async function start(): Promise<void> {
  try {
    const { items } = await json<{ items: Person[] }>(`${server}/demo/people`);
    fill(items);
    await signInAs(select.value);
  } catch {
    byId('notice').textContent = UNREACHABLE;
  }
}

function fill(people: readonly Person[]): void {
  for (const { user_id, display_name, role } of people) {
    select.add(new Option(`${display_name}, ${role}`, user_id));
  }
  const kept = sessionStorage.getItem(PERSON);
  if (people.some(({ user_id }) => user_id === kept)) select.value = kept ?? '';
  select.addEventListener('change', () => void signInAs(select.value));
}

/** A real site knows its visitor; this one lets you choose, and its backend signs the choice. */
async function signInAs(userId: string): Promise<void> {
  const greenroom = (await import(/* @vite-ignore */ `${server}/embed.js`)) as Embed;
  sessionStorage.setItem(PERSON, userId);
  chat.removeAttribute('thread-id');
  greenroom.configure({ server, token: () => chatToken(userId) });
}

async function chatToken(userId: string): Promise<string> {
  const answer = await fetch('/chat-token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ user_id: userId }),
  });
  if (!answer.ok) throw new Error(`/chat-token answered ${answer.status}`);
  return answer.text();
}

async function json<T>(address: string): Promise<T> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`);
  return (await answer.json()) as T;
}

function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`#${id} is missing`);
  return element as T;
}
