import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  applyEvent,
  EMPTY,
  inboxRows,
  mergeMessages,
  mergeThreads,
  MESSAGES_KEPT,
  progressOf,
  type State,
  THREADS_KEPT,
  THREADS_WITH_MESSAGES,
  type ThreadState,
  withForms,
} from '../src/state.js';
import type { FeedEvent, Message } from '../src/types.js';
import { chance } from './fakes.js';
import {
  AT,
  attachment,
  card,
  event,
  file,
  message,
  messageId,
  participant,
  row,
  thread,
} from './things.js';

const LATER = '2027-01-15T09:00:00.000Z';

function after(...events: FeedEvent[]): State {
  return events.reduce(applyEvent, EMPTY);
}

function known(state: State, id = 'thr_1'): ThreadState {
  const found = state.threads.get(id);
  assert.ok(found, `${id} is not known`);
  return found;
}

function told(seq: number, more: Partial<Message> = {}): FeedEvent {
  const said = message(seq, more);
  return event('message.new', { message: said, thread_id: said.thread_id });
}

function bodies(state: State): string[] {
  return known(state).messages.map((each) => each.body);
}

test('messages stand in the order of the thread', () => {
  assert.deepEqual(bodies(after(told(2), told(1), told(3))), ['number 1', 'number 2', 'number 3']);
});

test('an event that is applied again changes nothing', () => {
  const events = [told(1), event('inbox.changed', { inbox: row('thr_1', { unread_count: 1 }) })];
  assert.deepEqual(after(...events, ...events), after(...events));
});

test('the state before an event stays as it was', () => {
  const before = after(told(1));
  const copy = structuredClone(before);
  applyEvent(before, told(2));
  assert.deepEqual(before, copy);
});

test('an edit and a deletion take the place of the message', () => {
  const edited = message(1, { body: 'better', edited_at: LATER });
  const state = after(told(1), event('message.edited', { message: edited }));
  assert.deepEqual(bodies(state), ['better']);
  const deleted = message(1, { body: '', deleted_at: LATER });
  assert.deepEqual(bodies(applyEvent(state, event('message.deleted', { message: deleted }))), ['']);
});

test('an edit of a message that is too old to be kept does not bring it back', () => {
  const edited = message(1, { body: 'better', edited_at: LATER });
  assert.deepEqual(bodies(after(told(2), event('message.edited', { message: edited }))), [
    'number 2',
  ]);
});

test('an answer that is older than what the feed told does not undo it', () => {
  const deleted = message(1, { body: '', deleted_at: LATER });
  const state = after(told(1), event('message.deleted', { message: deleted }));
  assert.deepEqual(bodies(mergeMessages(state, 'thr_1', [message(1)], true)), ['']);
});

test('messages come out the same in whichever order their forms arrive', () => {
  const random = chance();
  const forms = [1, 2, 3, 4].flatMap((seq) => [
    message(seq),
    message(seq, { body: 'edited', edited_at: AT }),
    message(seq, { body: 'edited again', edited_at: LATER }),
    ...(seq % 2 ? [message(seq, { body: '', deleted_at: LATER })] : []),
  ]);
  const merged = (list: Message[]): string[] =>
    bodies(list.reduce((state, each) => mergeMessages(state, 'thr_1', [each], true), EMPTY));
  for (let round = 0; round < 50; round += 1) {
    const shuffled = forms
      .map((form) => ({ form, place: random() }))
      .sort((one, other) => one.place - other.place)
      .map(({ form }) => form);
    assert.deepEqual(merged(shuffled), ['', 'edited again', '', 'edited again']);
  }
});

test('fifty messages of a thread are kept', () => {
  const all = Array.from({ length: MESSAGES_KEPT + 7 }, (_, index) => told(index + 1));
  const kept = known(after(...all)).messages;
  assert.deepEqual([kept.length, kept[0]?.seq, kept.at(-1)?.seq], [50, 8, 57]);
});

test('messages of fifty threads are kept, and rows of five hundred; the stalest go first', () => {
  let state = EMPTY;
  for (let number = 0; number < THREADS_KEPT + 5; number += 1) {
    state = applyEvent(state, told(1, { thread_id: `thr_${number}` }));
  }
  assert.equal(state.threads.size, THREADS_KEPT);
  assert.equal(state.threads.has('thr_4'), false);
  const filled = [...state.threads.values()].filter((each) => each.messages.length > 0);
  assert.equal(filled.length, THREADS_WITH_MESSAGES);
  assert.equal(known(state, 'thr_504').messages.length, 1);
  assert.equal(known(state, 'thr_300').messages.length, 0);
});

test('a thread that is left is forgotten', () => {
  const state = after(told(1), event('thread.changed'));
  assert.equal(state.threads.has('thr_1'), false);
});

test('a reset forgets everything', () => {
  assert.equal(applyEvent(after(told(1)), event('reset')).threads.size, 0);
});

test('receipts only move forward, and what was read has arrived', () => {
  const receipt = (kind: 'delivered' | 'read', seq: number): FeedEvent => {
    const mark = { user_id: 'mia', kind, message_id: messageId(seq), seq, at: AT };
    return event('receipt', { receipt: mark });
  };
  const state = after(receipt('delivered', 3), receipt('read', 5), receipt('read', 4));
  const marks = known(state).marks['mia'];
  assert.equal(marks?.read?.message_id, messageId(5));
  assert.equal(marks?.delivered?.message_id, messageId(5));
});

test('a message is sent, delivered and read as far as the last of the others has got', () => {
  const at = (seq: number) => ({ message_id: messageId(seq), at: AT });
  const state = after(
    event('thread.changed', {
      thread: thread('thr_1', {
        participants: [
          participant('ben'),
          participant('mia', { last_read: at(2), last_delivered: at(3) }),
          participant('noor', { last_read: at(1), last_delivered: at(2) }),
          participant('gone', { status: 'left' }),
        ],
      }),
    }),
  );
  const progress = [1, 2, 3].map((seq) => {
    return progressOf(known(state), message(seq, { author_id: 'ben' }));
  });
  assert.deepEqual(progress, ['read', 'delivered', 'sent']);
});

test('a page of the inbox does not undo what the feed has told', () => {
  const fresh = row('thr_1', { unread_count: 3 });
  const state = after(event('inbox.changed', { inbox: fresh }));
  const items = [{ thread: thread('thr_1'), inbox: row('thr_1') }];
  assert.equal(known(mergeThreads(state, items, true)).inbox?.unread_count, 3);
  assert.equal(known(mergeThreads(state, items, true)).thread?.id, 'thr_1');
});

test('before there is a feed the later answer stays', () => {
  const before = mergeThreads(EMPTY, [{ thread: thread('thr_1'), inbox: row('thr_1') }], false);
  const inbox = row('thr_1', { unread_count: 3 });
  const state = mergeThreads(before, [{ thread: thread('thr_1'), inbox }], false);
  assert.equal(known(state).inbox?.unread_count, 3);
});

test('the inbox shows pinned threads first, then the latest', () => {
  const rows = [
    row('old', { last_message_at: '2027-01-01T00:00:00.000Z' }),
    row('new', { last_message_at: '2027-01-03T00:00:00.000Z' }),
    row('pinned', { pinned: true, last_message_at: '2027-01-02T00:00:00.000Z' }),
    row('away', { placement: 'archived' }),
  ];
  const items = rows.map((inbox) => ({ thread: thread(inbox.thread_id), inbox }));
  const shown = inboxRows(mergeThreads(EMPTY, items, true)).map((each) => each.thread_id);
  assert.deepEqual(shown, ['pinned', 'new', 'old']);
});

test('an event of a kind that is not known yet changes nothing', () => {
  const unknown = { ...event('receipt'), type: 'card.changed' } as unknown as FeedEvent;
  assert.deepEqual(known(applyEvent(after(told(1)), unknown)), known(after(told(1))));
});

test('a changed card stands in its message and brings the row along', () => {
  const shown = message(2, { kind: 'card', card: card(2) });
  const paid = card(2, { state: 'paid', version: 2 });
  const state = after(
    event('message.new', { message: message(1) }),
    event('message.new', { message: shown }),
    event('card.changed', { card: paid, inbox: row('thr_1', { needs_action: true }) }),
  );
  assert.deepEqual(known(state).messages, [message(1), { ...shown, card: paid }]);
  assert.equal(known(state).inbox?.needs_action, true);
  const stale = mergeMessages(state, 'thr_1', [shown], true);
  assert.deepEqual(known(stale).messages[1]?.card, paid);
});

test('a changed card whose message is not kept changes no message', () => {
  const state = after(
    event('message.new', { message: message(9) }),
    event('card.changed', { card: card(2) }),
  );
  assert.deepEqual(known(state).messages, [message(9)]);
});

test('a file that is ready takes the place of its placeholder, in its message alone', () => {
  const early = file({ state: 'processing', width: null, height: null, renditions: [] });
  const other = file({ id: 'fil_2' });
  const messages = [attachment(early), attachment(other)];
  const before = after(told(1, { kind: 'asset', attachments: messages }), told(2));
  const later = applyEvent(before, event('file.changed', { file: file() }));
  const [shown] = known(later).messages;
  assert.deepEqual(shown?.attachments, [attachment(file()), attachment(other)]);
  assert.equal(known(later).messages[1], known(before).messages[1]);
});

test('a page that was asked for before the file was ready shows it ready', () => {
  const early = file({ state: 'processing', renditions: [] });
  const page = [message(1, { attachments: [attachment(early)] })];
  const [shown] = withForms(page, [event('file.changed', { file: file() })]);
  assert.equal(shown?.attachments[0]?.file.state, 'ready');
});
