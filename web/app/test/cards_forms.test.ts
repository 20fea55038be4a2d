import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { StoredFile } from '@greenroom/sdk';

import { centsOf, moneyText } from '../src/cards/money.ts';
import { humanised } from '../src/cards/naming.ts';
import {
  fieldsOf,
  type FormContext,
  hasRange,
  lacksDocument,
  type Schema,
} from '../src/cards/schema.ts';
import {
  beginning,
  rawOf,
  type RawObject,
  read,
  subtotalOf,
  withRaw,
} from '../src/cards/values.ts';
import { forms } from '../src/i18n/en/forms.ts';
import { momentOf, wallTime } from '../src/i18n/wall_time.ts';

const here: FormContext = {
  words: forms,
  locale: 'en-GB',
  timeZone: 'Europe/London',
  zone: 'Europe/Rome',
  nowMs: Date.parse('2026-11-16T10:00:00Z'),
  currency: 'GBP',
  legs: [],
  legId: null,
  booked: {},
  needsLeg: false,
  quotes: {},
  documents: null,
  options: [],
  fixed: {},
  pictures: [],
  isMarked: false,
  canList: false,
  implied: () => ({}),
};

const moment: Schema = { type: 'string', format: 'date-time', maxLength: 40 };
const note: Schema = { type: 'string', maxLength: 500 };
const leg: Schema = { type: 'string', maxLength: 30 };

function object(properties: Record<string, Schema>, required: string[]): Schema {
  return { type: 'object', properties, required };
}

const range = { start: moment, end: moment };
const items = object(
  {
    title: { type: 'string', minLength: 1, maxLength: 120 },
    kind: { type: 'string', pattern: '^[a-z][a-z0-9_]*$', maxLength: 40 },
    qty: { type: 'integer', minimum: 1, maximum: 10_000 },
    unit_cents: { type: 'integer', minimum: 1, maximum: 100_000_000 },
  },
  ['title', 'qty', 'unit_cents'],
);

const shapes: [string, Schema, unknown[]][] = [
  [
    'a time that is proposed',
    object({ leg_id: leg, ...range, timezone: leg, note }, ['start', 'end', 'timezone']),
    [
      {
        start: '2026-11-21T10:00:00+01:00',
        end: '2026-11-21T13:00:00+01:00',
        timezone: 'Europe/Rome',
      },
      // The hour that clocks show twice, and seconds.
      {
        start: '2026-10-25T01:30:00Z',
        end: '2026-10-25T02:30:59.123Z',
        timezone: 'UTC',
        note: 'n',
      },
    ],
  ],
  [
    'options of which one is chosen',
    object(
      {
        options: {
          type: 'array',
          minItems: 1,
          maxItems: 5,
          items: object(range, ['start', 'end']),
        },
      },
      ['options'],
    ),
    [{ options: [{ start: '2026-11-27T12:00:00+01:00', end: '2026-11-27T22:00:00+01:00' }] }],
  ],
  [
    'items with prices',
    object({ note, items: { type: 'array', minItems: 1, maxItems: 20, items } }, ['items']),
    [
      { items: [{ title: 'Lunch', qty: 5, unit_cents: 1250, kind: 'catering' }], note: 'At one.' },
      {
        items: [
          { title: 'A', qty: 1, unit_cents: 1 },
          { title: 'B', qty: 10_000, unit_cents: 99 },
        ],
      },
    ],
  ],
  [
    'an expense',
    object(
      {
        amount_cents: { type: 'integer', minimum: 1, maximum: 100_000_000 },
        merchant: { type: 'string', minLength: 1, maxLength: 120 },
        date: { type: 'string', format: 'date', maxLength: 10 },
        buyer_payable: { type: 'boolean' },
      },
      ['amount_cents', 'merchant', 'date', 'buyer_payable'],
    ),
    [
      { amount_cents: 3860, merchant: 'Rail', date: '2026-11-15', buyer_payable: true },
      { amount_cents: 100_000_000, merchant: ' x ', date: '2028-02-29', buyer_payable: false },
    ],
  ],
  [
    'overtime',
    object(
      {
        rate_cents_per_hour: { type: 'integer', minimum: 1, maximum: 10_000_000 },
        minutes: { type: 'integer', minimum: 1, maximum: 1440 },
      },
      ['rate_cents_per_hour'],
    ),
    [{ rate_cents_per_hour: 8500 }, { rate_cents_per_hour: 8501, minutes: 30 }],
  ],
  [
    'a place',
    object(
      {
        lat: { type: 'number', minimum: -90, maximum: 90 },
        lon: { type: 'number', minimum: -180, maximum: 180 },
        until: moment,
      },
      ['lat', 'lon', 'until'],
    ),
    [{ lat: 53.7936, lon: -1.5495, until: '2026-11-17T07:20:00+00:00' }],
  ],
  [
    'a choice, and a type of their own with parts inside parts',
    object(
      {
        kind: { type: 'string', enum: ['time_based', 'milestone'] },
        size: { type: 'integer', enum: [1, 2, 3] },
        sure: { type: 'boolean' },
        inner: object({ tags: { type: 'array', maxItems: 3, items: leg } }, []),
      },
      ['kind'],
    ),
    [
      { kind: 'milestone' },
      { kind: 'time_based', size: 2, sure: false, inner: { tags: ['a', 'b'] } },
    ],
  ],
];

describe('a form gives back what it was filled with', () => {
  for (const [name, schema, values] of shapes) {
    for (const locale of ['en-GB', 'de']) {
      for (const currency of ['GBP', 'JPY', 'KWD', null]) {
        test(`${name}, ${locale}, ${currency}`, () => {
          const context = { ...here, locale, currency };
          for (const value of values) {
            const { value: again, faults } = read(schema, rawOf(schema, value, context), context);
            assert.deepEqual(faults, []);
            assert.deepEqual(again, value);
          }
        });
      }
    }
  }
});

describe('sums', () => {
  const typed: [string, string, string, number | null][] = [
    ['91.50', 'en', 'GBP', 9150],
    ['91,50', 'en', 'GBP', 9150],
    ['91,5', 'de', 'EUR', 9150],
    ['91.5', 'de', 'EUR', 9150],
    ['1,234', 'en', 'GBP', 123_400],
    ['1.234', 'de', 'EUR', 123_400],
    ['1.234', 'en', 'GBP', null],
    ['1,234.56', 'de', 'EUR', 123_456],
    ['1.234,56', 'en', 'EUR', 123_456],
    ['1.234.567', 'de', 'EUR', 123_456_700],
    ['1.23.4', 'de', 'EUR', null],
    ['£ 12', 'en', 'GBP', 1200],
    ['12 kr', 'en', 'NOK', 1200],
    ["1'200.50", 'de-CH', 'CHF', 120_050],
    ['0.1', 'en', 'GBP', 10],
    ['0.29', 'en', 'GBP', 29],
    ['1.005', 'en', 'KWD', 1005],
    ['500', 'en', 'JPY', 500],
    ['5.5', 'en', 'JPY', null],
    ['', 'en', 'GBP', null],
    ['abc', 'en', 'GBP', null],
    ['1.999', 'en', 'GBP', null],
    ['99999999999999999', 'en', 'GBP', null],
  ];
  for (const [text, locale, currency, cents] of typed) {
    test(`${text || 'nothing'} in ${locale} and ${currency}`, () => {
      assert.equal(centsOf(text, locale, currency), cents);
    });
  }

  test('are written with the point of the language', () => {
    assert.equal(moneyText(5, 'en', 'GBP'), '0.05');
    assert.equal(moneyText(123_456, 'de', 'EUR'), '1234,56');
    assert.equal(moneyText(500, 'de', 'JPY'), '500');
  });

  test('every whole number of cents survives, also those that fractions cannot hold', () => {
    for (const cents of [1, 10, 29, 57, 115, 4113, 100_005, 8_999_999_999_999_97]) {
      for (const locale of ['en', 'de', 'de-CH', 'fr']) {
        assert.equal(centsOf(moneyText(cents, locale, 'EUR'), locale, 'EUR'), cents);
      }
    }
  });
});

describe('times of a place', () => {
  test('become moments', () => {
    assert.equal(
      momentOf({ date: '2026-07-01', time: '10:00' }, 'Europe/Oslo'),
      '2026-07-01T08:00:00.000Z',
    );
    assert.equal(
      momentOf({ date: '2026-12-31', time: '23:30' }, 'Asia/Kolkata'),
      '2026-12-31T18:00:00.000Z',
    );
  });

  test('that clocks jump over are none', () => {
    assert.equal(momentOf({ date: '2026-03-29', time: '01:30' }, 'Europe/London'), null);
    assert.equal(momentOf({ date: '2026-02-30', time: 'x' }, 'Europe/London'), null);
  });

  test('that come twice are the first', () => {
    assert.equal(
      momentOf({ date: '2026-10-25', time: '01:30' }, 'Europe/London'),
      '2026-10-25T00:30:00.000Z',
    );
  });

  test('are the same there and back through a year, also where clocks are odd', () => {
    for (const zone of [
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Pacific/Kiritimati',
    ]) {
      for (let day = 0; day < 366; day += 3) {
        const at = new Date(Date.UTC(2026, 0, 1 + day, 12, 15)).toISOString();
        assert.equal(momentOf(wallTime(at, zone), zone), at);
      }
    }
  });
});

describe('what is wrong is said before it is sent', () => {
  const expense = shapes[3]![1];

  test('what is missing', () => {
    const { faults } = read(expense, rawOf(expense, {}, here), here);
    assert.deepEqual(
      faults.map(({ path, fault }) => [path, fault]),
      [
        ['amount_cents', 'required'],
        ['merchant', 'required'],
        ['date', 'required'],
      ],
    );
  });

  test('limits, with the number', () => {
    const raw = {
      ...rawOf(expense, { date: '2026-11-15' }, here),
      amount_cents: '0',
      merchant: 'x'.repeat(121),
    };
    assert.deepEqual(read(expense, raw, here).faults, [
      { path: 'amount_cents', fault: 'tooSmall', limit: 1, isSum: true },
      { path: 'merchant', fault: 'tooLong', limit: 120 },
    ]);
  });

  test('an end before its start, in its row', () => {
    const [, schema] = shapes[1]!;
    const value = { options: [{ start: '2026-11-27T12:00:00Z', end: '2026-11-27T11:00:00Z' }] };
    assert.deepEqual(read(schema, rawOf(schema, value, here), here).faults, [
      { path: 'options.0.end', fault: 'endsBeforeStart' },
    ]);
  });

  test('too few and too many rows', () => {
    const [, schema] = shapes[1]!;
    const { faults } = read(schema, { options: [] }, here);
    assert.deepEqual(faults, [{ path: 'options', fault: 'tooFew', limit: 1 }]);
  });

  test('half a time, and one that does not exist', () => {
    const schema = object({ at: moment, other: moment }, ['at', 'other']);
    const raw = {
      at: { date: '2026-11-20', time: '' },
      other: { date: '2026-03-29', time: '01:30' },
    };
    assert.deepEqual(read(schema, raw, here).faults, [
      { path: 'at', fault: 'noMoment' },
      { path: 'other', fault: 'noSuchTime' },
    ]);
  });
});

describe('fields', () => {
  test('what must be filled in comes first', () => {
    const [, schema] = shapes[2]!;
    assert.deepEqual(
      fieldsOf(schema, here).map(({ name }) => name),
      ['items', 'note'],
    );
  });

  test('a leg is asked for only where there are several', () => {
    const [, schema] = shapes[0]!;
    const legs = [
      { value: 'leg_1', label: 'One' },
      { value: 'leg_2', label: 'Two' },
    ];
    assert.equal(fieldsOf(schema, here).find(({ name }) => name === 'leg_id')?.kind, 'hidden');
    assert.equal(fieldsOf(schema, { ...here, legs })[0]?.kind, 'leg');
    assert.equal(fieldsOf(schema, { ...here, legs })[0]?.isRequired, false);
    assert.equal(fieldsOf(schema, { ...here, legs, needsLeg: true })[0]?.isRequired, true);
  });

  test('what is known is not asked', () => {
    const schema = object(
      { sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', maxLength: 64 } },
      ['sha256'],
    );
    const context = { ...here, fixed: { sha256: 'a'.repeat(64) } };
    assert.deepEqual(read(schema, beginning(schema, context), context).value, context.fixed);
  });

  test('a new form begins with a row, the zone of the event and one of each', () => {
    const [, schema] = shapes[2]!;
    const rows = beginning(schema, here)['items'] as RawObject[];
    assert.equal(rows.length, 1);
    assert.equal(rows[0]?.['qty'], '1');
    assert.equal(beginning(shapes[0]![1], here)['timezone'], 'Europe/Rome');
  });

  test('a kind is written as people write', () => {
    const [, schema] = shapes[2]!;
    const raw = rawOf(schema, { items: [{ title: 'T', qty: 1, unit_cents: 1 }] }, here);
    const typed = withRaw(raw, ['items', '0', 'kind'], 'Travel & Taxi ') as RawObject;
    assert.deepEqual(read(schema, typed, here).value, {
      items: [{ title: 'T', qty: 1, unit_cents: 1, kind: 'travel_taxi' }],
    });
  });

  test('a total runs along while the rows are filled in', () => {
    assert.equal(
      subtotalOf(
        [
          { qty: '3', unit_cents: '0.10' },
          { qty: '1', unit_cents: '2' },
        ],
        here,
      ),
      230,
    );
    const half = [
      { qty: '2', unit_cents: '1.50' },
      { qty: '3', unit_cents: '' },
      { qty: 'x', unit_cents: '9' },
    ];
    assert.equal(subtotalOf(half, here), 300);
    assert.equal(subtotalOf([], here), 0);
  });

  test('names are made readable', () => {
    assert.equal(humanised('buyer_payable'), 'Buyer payable');
    assert.equal(humanised('fee_cents'), 'Fee');
    assert.equal(humanised('cents'), 'Cents');
  });
});

test('a signature cannot be asked for where there is no document', () => {
  const schema = object({ document_id: { type: 'string' } }, ['document_id']);
  const papers = [{ value: 'doc_1', label: 'Model release' }];
  assert.equal(lacksDocument(schema, { ...here, documents: [] }), true);
  assert.equal(lacksDocument(schema, { ...here, documents: papers }), false);
  assert.equal(lacksDocument(object({ note }, []), here), false);
});

test('changes are asked for in all pictures or in single ones, and not without a word', () => {
  const single = object({ file_id: leg, note }, ['file_id', 'note']);
  const schema = object({ notes: note, file_notes: { type: 'array', items: single } }, []);
  const pictures = [{ id: 'fil_1' } as StoredFile];
  const context = { ...here, pictures };
  assert.deepEqual(
    fieldsOf(schema, context).map(({ kind }) => kind),
    ['long', 'notes'],
  );
  const empty = beginning(schema, context);
  assert.deepEqual(read(schema, empty, context).faults, [{ path: 'notes', fault: 'required' }]);
  const file_notes = [{ file_id: 'fil_1', note: 'Warmer' }];
  assert.deepEqual(read(schema, { ...empty, file_notes }, context), {
    value: { file_notes },
    faults: [],
  });
});

test('a form about a time says which one is booked, and no other form does', () => {
  assert.equal(hasRange(object(range, ['start', 'end'])), true);
  const options: Schema = { type: 'array', items: object(range, ['start', 'end']) };
  assert.equal(hasRange(object({ options, reason: note }, ['options'])), true);
  assert.equal(hasRange(object({ until: moment }, [])), false);
});
