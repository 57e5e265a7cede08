import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { foldFieldName } from '../../../shared/contract/texts.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';

const numberFeature = (field: string, aliases?: readonly string[]): Feature => ({
  type: 'number',
  field,
  label: field,
  columns: [0],
  ...(aliases ? { aliases } : {}),
});

const oneField = (aliases: readonly string[] = ['source', 'Origin of lead']) =>
  compileKnownFields({ features: [numberFeature('Lead Source', aliases)] });

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Parses JSON, which makes `__proto__` an own key. */
const parsed = (json: string): Record<string, unknown> => JSON.parse(json);

describe('compileKnownFields', () => {
  it('gives each distinct pair of field and aliases a slot, in the order of first appearance', () => {
    const fields = compileKnownFields({
      features: [
        numberFeature('pdays', ['days since', 'gap']),
        numberFeature('age'),
        numberFeature('pdays', ['gap', 'days since']),
        numberFeature('pdays'),
      ],
    });
    expect(fields.slotNames).to.deep.equal(['pdays', 'age', 'pdays']);
    expect(fields.slotOfFeature).to.deep.equal([0, 1, 0, 2]);
    expect(fields.slotCount).to.equal(3);
    expect(fields.scoredSlotCount).to.equal(3);
    expect(fields.recencySlot).to.equal(undefined);
  });

  it('knows the order of the dates with slashes of each slot', () => {
    const date = { type: 'date', label: 'Date', columns: [0] } as const;
    const features: Feature[] = [
      numberFeature('age'),
      { ...date, field: 'seen' },
      { ...date, field: 'seen', date_order: 'mdy' },
      { ...date, field: 'closed', date_order: 'dmy' },
    ];
    const { slotDateOrders } = compileKnownFields({ features });
    expect([0, 1, 2].map((slot) => slotDateOrders[slot])).to.deep.equal([undefined, 'mdy', 'dmy']);
  });

  it('gives the recency field its own slot only when no feature reads it', () => {
    const recency = { field: 'touched', max_age_days: 10 };
    const alone = compileKnownFields({ features: [numberFeature('age')], recency });
    expect([alone.slotNames, alone.scoredSlotCount, alone.recencySlot]).to.deep.equal([['age', 'touched'], 1, 1]);
    const shared = compileKnownFields({
      features: [numberFeature('age'), numberFeature('touched')],
      recency,
    });
    expect([shared.slotCount, shared.scoredSlotCount, shared.recencySlot]).to.deep.equal([2, 2, 1]);
  });

  it('prefers the slot of a date feature for the recency field', () => {
    const date: Feature = {
      type: 'date',
      field: 'touched',
      label: 'touched',
      columns: [1],
      aliases: ['seen'],
    };
    const recency = { field: 'touched', max_age_days: 10 };
    expect(compileKnownFields({ features: [numberFeature('touched'), date], recency }).recencySlot).to.equal(1);
  });
});

describe('foldFieldName', () => {
  const invisible = [
    '\ufeffLead Source',
    'Lead\u200bSource\u200d',
    '\u202aLead Source\u202c',
    'Lead\u00adSource\ufe0f',
  ];
  for (const name of [
    ...['Lead Source', 'lead_source', 'LEAD-SOURCE', ' leadSource ', 'lead\u00a0source', 'Ｌead source'],
    ...[...invisible, 'Lead Source\u2060\u3164', '\u0001Lead Source\u007f'],
  ])
    it(`folds ${JSON.stringify(name)} to leadsource`, () => expect(foldFieldName(name)).to.equal('leadsource'));
  it('keeps other characters', () => expect(foldFieldName('a.b')).to.equal('a.b'));
});

describe('pack', () => {
  it('matches a key exactly, else folded, else through an alias', () => {
    expect(oneField().pack({ 'Lead Source': 1 })).to.deep.equal([1]);
    expect(oneField().pack({ lead_source: 2 })).to.deep.equal([2]);
    expect(oneField().pack({ SOURCE: 3 })).to.deep.equal([3]);
    expect(oneField().pack({ 'origin-of-lead': 4 })).to.deep.equal([4]);
    expect(oneField().pack({ 'lead.source': 5 })).to.deep.equal([undefined]);
  });

  it('prefers exact to folded to alias in any order of keys, and the first among equals', () => {
    expect(oneField().pack({ source: 1, lead_source: 2, 'Lead Source': 3 })).to.deep.equal([3]);
    expect(oneField().pack({ 'Lead Source': 3, lead_source: 2, source: 1 })).to.deep.equal([3]);
    expect(oneField().pack({ source: 1, 'LEAD SOURCE': 4, lead_source: 2 })).to.deep.equal([4]);
    expect(oneField().pack({ 'Origin of lead': 1, source: 2 })).to.deep.equal([1]);
    expect(oneField().pack({ 'Lead Source': null, lead_source: 2 })).to.deep.equal([[]]);
  });

  it('takes the key that keysOf names', () => {
    const keysOf = (record: Record<string, unknown>) => oneField().keysOf(record);
    expect(keysOf({ 'Lead Source': 1, lead_source: 2, source: 3 })).to.deep.equal(['Lead Source']);
    expect(keysOf({ SOURCE: 3, lead_source: 2, 'LEAD SOURCE': 4 })).to.deep.equal(['lead_source']);
    expect(keysOf({ 'Origin of lead': 1, source: 2 })).to.deep.equal(['Origin of lead']);
    expect(keysOf({ 'lead.source': 5 })).to.deep.equal([undefined]);
  });

  it('feeds several slots from one key', () => {
    const fields = compileKnownFields({ features: [numberFeature('job', ['work']), numberFeature('work')] });
    expect(fields.pack({ work: 'x' })).to.deep.equal(['x', 'x']);
  });

  it('does not fold the key of one field to another field that differs by case alone', () => {
    const fields = compileKnownFields({ features: [numberFeature('Stage'), numberFeature('stage')] });
    expect(fields.pack({ stage: 1 })).to.deep.equal([undefined, 1]);
    expect(fields.pack({ Stage: 1 })).to.deep.equal([1, undefined]);
    expect(fields.keysOf({ stage: 1, Stage: 2 })).to.deep.equal(['Stage', 'stage']);
    expect(fields.pack({ STAGE: 1 }), 'a name of neither').to.deep.equal([1, 1]);
    expect(fields.pack({ STAGE: 3, stage: 1 }), 'one by its name, one by folding').to.deep.equal([3, 1]);
    const cells = fields.pack({});
    expect(fields.mergeStored({ cells, stored: { names: ['stage'], cells: [5] } })).to.equal(true);
    expect(cells).to.deep.equal([undefined, 5]);
  });

  it('feeds a field that names the other one as its alias', () => {
    const features = [numberFeature('Stage', ['stage']), numberFeature('stage')];
    expect(compileKnownFields({ features }).pack({ stage: 1 })).to.deep.equal([1, 1]);
  });

  const packings: readonly (readonly [string, unknown])[] = [
    ['"text"', 'text'],
    ['""', ''],
    ['0', 0],
    ['false', false],
    ['null', []],
    ['[]', []],
    ['[null]', []],
    ['["a"]', 'a'],
    ['["a",null,2,true]', ['a', null, 2, true]],
    ['[null,null]', [null, null]],
    ['{"deep":{"er":1}}', {}],
    ['[{"a":1}]', [[]]],
    ['[["a"]]', [[]]],
    ['[[]]', [[]]],
    ['["a",["b"]]', [[]]],
    ['1e999', { overflow: true }],
    ['-1e999', { overflow: true }],
    ['[1e999]', { overflow: true }],
    ['["a",1e999]', { overflow: true }],
  ];
  for (const [json, cell] of packings)
    it(`packs ${json} as ${JSON.stringify(cell)}, which survives JSON`, () => {
      const cells = oneField().pack(parsed(`{"Lead Source":${json}}`));
      expect(cells).to.deep.equal([cell]);
      expect(JSON.parse(JSON.stringify(cells))).to.deep.equal([cell]);
    });

  it('treats keys of Object.prototype as ordinary names', () => {
    const names = ['__proto__', 'constructor', 'toString', 'toJSON', 'hasOwnProperty'];
    const fields = compileKnownFields({ features: names.map((name) => numberFeature(name)) });
    const record = parsed('{"__proto__":1,"constructor":2,"toString":3,"toJSON":4,"hasOwnProperty":5}');
    expect(fields.pack(record)).to.deep.equal([1, 2, 3, 4, 5]);
    expect(fields.pack({})).to.deep.equal(new Array(5).fill(undefined));
    expect(oneField().pack(parsed('{"__proto__":{"Lead Source":9},"constructor":2}'))).to.deep.equal([undefined]);
  });

  it('folds each different name of a call once, and neither names of the model nor long ones', () => {
    const fields = oneField();
    const names = fields.sentNames();
    const long = `Lead${' '.repeat(600)}Source`;
    const record = { 'Lead Source': 3, source: 2, 'LEAD SOURCE': 1, other: 4, [long]: 5 };
    for (let index = 0; index < 10; index += 1) expect(fields.pack(record, names)).to.deep.equal([3]);
    expect(names.foldedCharacters).to.equal('LEAD SOURCE'.length + 'other'.length);
    expect(fields.pack({ [long]: 1 }, names), 'a name of 610 characters').to.deep.equal([undefined]);
  });

  it('folds a name of up to 512 characters, whatever folding adds or removes', () => {
    const field = 'Größe ὮᾎX';
    const fields = compileKnownFields({ features: [numberFeature(field), numberFeature('\ufdfa')] });
    const separated = [...field].join(' _-'.repeat(18));
    for (const name of [field.toUpperCase(), field.normalize('NFD'), separated.normalize('NFD'), field.padEnd(512)]) {
      expect(name.length, name).to.be.within(field.length, 512);
      expect(fields.pack({ [name]: 1 }), name).to.deep.equal([1, undefined]);
    }
    expect(fields.pack({ ['\ufdfa'.normalize('NFKC')]: 1 })).to.deep.equal([undefined, 1]);
  });

  it('remembers no name after its call', () => {
    const models = Array.from({ length: 10 }, () => oneField());
    const usedMb = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed / 1024 / 1024;
    };
    const beforeMb = usedMb();
    for (const [model, fields] of models.entries())
      for (let key = 0; key < 9_000; key += 1) fields.pack({ [`${model} ${key}`.padEnd(250, 'x')]: 1 });
    expect(usedMb() - beforeMb, 'MB').to.be.below(10);
    expect(models[0]?.pack({ lead_source: 2, 'Lead Source': 3 })).to.deep.equal([3]);
  });

  it('agrees with a naive implementation of the rule for any keys in any order', () => {
    const keys = [
      'Lead Source',
      'lead source',
      'LEADSOURCE',
      'source',
      'SOURCE',
      'so-urce',
      'other',
      '__proto__',
      'job',
    ];
    const features = [
      numberFeature('Lead Source', ['source', 'job']),
      numberFeature('source', ['Lead_Source']),
      numberFeature('JOB'),
      numberFeature('__proto__', ['other']),
      numberFeature('LEADSOURCE'),
    ];
    const fields = compileKnownFields({ features });
    fc.assert(
      fc.property(fc.shuffledSubarray(keys), (sent) => {
        const entries = sent.map((key, index) => `${JSON.stringify(key)}:${index}`);
        const record = parsed(`{${entries.join(',')}}`);
        expect(fields.pack(record)).to.deep.equal(features.map((feature) => naiveMatch(feature, record, features)));
      }),
    );
  });
});

/** The rule, with one pass for each rank. */
function naiveMatch(
  { field, aliases = [] }: Feature,
  record: Record<string, unknown>,
  features: readonly Feature[],
): unknown {
  const isField = (name: string) => features.some((feature) => feature.field === name);
  const fold = (name: string) => name.toLowerCase().replace(/[ _-]/g, '');
  const keys = Object.keys(record);
  const key =
    keys.find((name) => name === field) ??
    keys.find((name) => fold(name) === fold(field) && !isField(name)) ??
    keys.find((name) => aliases.some((alias) => fold(alias) === fold(name)));
  return key === undefined ? undefined : record[key];
}

describe('mergeStored', () => {
  const features = [numberFeature('Lead Source', ['source']), numberFeature('age'), numberFeature('City')];
  const fields = compileKnownFields({ features, recency: { field: 'touched', max_age_days: 1 } });

  it('fills slots that were not sent, and keeps a sent null', () => {
    const cells = fields.pack({ age: null, City: 'Rome' });
    expect(fields.mergeStored({ cells, stored: { slots: ['Web', 5, 'Oslo', '2026-01-01'] } })).to.equal(true);
    expect(cells).to.deep.equal(['Web', [], 'Rome', '2026-01-01']);
  });

  it('accepts cells that went through JSON', () => {
    const cells = JSON.parse(JSON.stringify(fields.pack({ age: 3 })));
    expect(fields.mergeStored({ cells, stored: { slots: [null, 5, null, null] } })).to.equal(false);
    expect(cells).to.deep.equal([null, 3, null, null]);
    expect(fields.mergeStored({ cells, stored: { slots: [[], 5] } })).to.equal(true);
    expect(cells).to.deep.equal([[], 3, null, null]);
  });

  it('matches names of another model as if a caller had sent them', () => {
    const cells = fields.pack({ city: 'Rome' });
    const stored = { names: ['source', 'AGE', 'Age', 'City', 'lead-source'], cells: [1, null, 7, 'Oslo', 2] };
    expect(fields.mergeStored({ cells, stored })).to.equal(true);
    expect(cells).to.deep.equal([2, 7, 'Rome', undefined]);
  });

  it('returns false when every stored field is unknown or was sent', () => {
    const cells = fields.pack({ age: 1 });
    expect(fields.mergeStored({ cells, stored: { names: ['age', 'other'], cells: [2, 3] } })).to.equal(false);
    expect(cells).to.deep.equal([undefined, 1, undefined, undefined]);
  });

  it('fills the same cells from names as packing those names would', () => {
    const key = fc.constantFrom('Lead Source', 'lead source', 'source', 'age', 'AGE', 'city', 'touched', 'other');
    const record = fc.dictionary(key, fc.constantFrom(1, 'a', null));
    fc.assert(
      fc.property(record, record, (sent, stored) => {
        const cells = fields.pack(sent);
        const whenSent = fields.pack(stored);
        const expected = cells.map((cell, slot) => (cell === undefined ? whenSent[slot] : cell));
        const [names, values] = [Object.keys(stored), Object.values(stored).map((value) => value ?? [])];
        const filled = fields.mergeStored({ cells: [...cells], stored: { slots: whenSent } });
        expect(fields.mergeStored({ cells, stored: { names, cells: values } })).to.equal(filled);
        expect(cells).to.deep.equal(expected);
      }),
    );
  });
});

describe('packerOf', () => {
  it('packs a row of texts as the record of those that are not empty', () => {
    const fields = compileKnownFields({
      features: [
        numberFeature('Lead Source', ['source']),
        numberFeature('age'),
        { type: 'multi', field: 'City', label: 'City', columns: [0], categories: ['a'] },
        numberFeature('__proto__', ['other']),
      ],
    });
    const names = ['other', 'source', 'lead source', 'AGE', 'Lead Source', 'age', 'City', '__proto__', 'Touched'];
    const text = fc.constantFrom('', 'a', '7', 'x'.repeat(70_000), ` ${'y'.repeat(4_096)} `);
    fc.assert(
      fc.property(fc.shuffledSubarray(names), fc.array(text, { maxLength: names.length }), (sent, texts) => {
        const columns = sent.map((name, index) => ({ name, index: sent.length - 1 - index }));
        const members = columns.flatMap(({ name, index }) => (texts[index] ? [[name, texts[index]] as const] : []));
        expect(fields.packerOf(columns)(texts)).to.deep.equal(fields.pack(Object.fromEntries(members)));
      }),
    );
  });
});
