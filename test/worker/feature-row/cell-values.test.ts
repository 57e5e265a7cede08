import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { wasMissing, wasRead, wasUnreadable, wasUnseen } from '../../../worker/feature-row/cell-reading.js';
import { dayMs } from '../../../worker/feature-row/date-value.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';

/** Cells of one feature. The tests of the Python exporter read the same file. */
interface Cells {
  readonly feature: { readonly type: Feature['type']; readonly categories?: readonly string[] };
  readonly missing_tokens?: readonly string[];
  /** A cell, and its value: a number, a category, several, or ISO 8601 for a date. */
  readonly reads?: readonly (readonly [cell: unknown, value: unknown])[];
  readonly missing: readonly unknown[];
  readonly unread?: readonly unknown[];
  /** Cells that are none of the categories. */
  readonly unseen?: readonly unknown[];
}

const groups: readonly Cells[] = JSON.parse(readFileSync(projectFile('test/fixtures/cell-values.json'), 'utf8'));
const nowMs = Date.parse('2026-11-20T00:00:00Z');

/** A reader of one feature in a row: its columns, then those of other and missing values where the type has them. */
function compiled({ feature, missing_tokens = [] }: Cells) {
  const { type, categories = [] } = feature;
  const count = Math.max(categories.length, 1);
  const whole = {
    ...{ ...feature, field: 'f', label: 'f', columns: [...Array(count).keys()] },
    ...(type === 'category' ? { encoding: 'onehot', other_column: count } : {}),
    ...(type === 'multi' ? {} : { missing_column: count + 1 }),
  } as Feature;
  const manifest = { features: [whole], width: count + 2, missing_tokens };
  const fields = compileKnownFields(manifest);
  const row = compileFeatureRow(manifest, fields);
  return (cell: unknown) => {
    const out = new Float32Array(count + 2);
    const readings = new Uint8Array(1);
    const cells = JSON.parse(JSON.stringify(fields.pack({ f: cell })));
    expect(row.write({ cells, nowMs, out, offset: 0, readings })).to.equal(undefined);
    return { row: [...out], reading: readings[0] };
  };
}

/** The row of a feature with a value. */
function rowOf({ feature }: Cells, value: unknown): number[] {
  const { type, categories } = feature;
  if (categories === undefined) {
    const number = type === 'date' ? (nowMs - Date.parse(String(value))) / dayMs : Number(value);
    return [Math.fround(number), 0, 0];
  }
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return [...categories.map((category) => (values.includes(category) ? 1 : 0)), 0, 0];
}

describe('the cells that the service and the exporter read alike', () => {
  for (const group of groups) {
    const { feature, reads = [], missing, unread = [], unseen = [], missing_tokens: tokens = [] } = group;
    const name = [feature.type, ...(feature.categories ?? []), ...tokens.map((token) => `without ${token}`)].join(' ');
    const read = compiled(group);

    it(`have the values of the table: ${name}`, () => {
      for (const [cell, value] of reads) {
        const { row, reading } = read(cell);
        expect(row, JSON.stringify(cell)).to.deep.equal(rowOf(group, value));
        const readings = feature.type === 'multi' ? [wasRead, wasUnseen] : [wasRead];
        expect(reading, JSON.stringify(cell)).to.be.oneOf(readings);
      }
      for (const cell of unseen) {
        const { row, reading } = read(cell);
        expect(row.indexOf(1), JSON.stringify(cell)).to.equal(row.length - 2);
        expect(reading, JSON.stringify(cell)).to.equal(wasUnseen);
      }
    });

    it(`are missing or unreadable as the table says: ${name}`, () => {
      for (const cell of missing) expect(read(cell).reading, JSON.stringify(cell)).to.equal(wasMissing);
      for (const cell of unread) expect(read(cell).reading, JSON.stringify(cell)).to.equal(wasUnreadable);
    });
  }
});
