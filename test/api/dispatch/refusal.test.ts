import { expect } from 'chai';
import { refusal } from '../../../api/dispatch/refusal.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { nothingKnown } from '../../../shared/messages/score-job.js';

/** The message for a call of one record whose model knows the field `size`. */
function messageOf(fields: Readonly<Record<string, unknown>>, problem: { field: string; expected: string }) {
  const parts = [{ problems: [{ record: 0, came: 'an object', ...problem }], problemCount: 1 }];
  const call = { records: [{ crmId: null, fields }], nameOfRecord: () => 'record', modelId: 'mdl' };
  const knownFields = compileKnownFields({
    features: [{ type: 'number', field: 'size', label: 'Size', columns: [0] }],
  });
  return refusal(parts, call, { knownFields, names: knownFields.sentNames() }).message;
}

describe('a record that cannot be featurized', () => {
  it('is named by the field name that was sent, where the model has another', () => {
    const problem = { field: 'size', expected: 'a number' };
    const told = 'record.size: expected a number, came an object';
    expect(messageOf({ Size: {} }, problem)).to.include(`${told} (sent as "Size").`);
    expect(messageOf({ size: {} }, problem)).to.include(`${told}.`);
  });

  it('is described by five of its own fields when it has no known field', () => {
    const problem = { field: '', expected: nothingKnown.expected };
    const named = { a: [], b: {}, c: 1, d: 2, e: 3 };
    const told = '(it has "a", a list; "b", an object; "c"; "d"; "e"';
    expect(messageOf(named, problem)).to.include(`${told}). GET /v1/models/mdl lists`);
    expect(messageOf({ ...named, f: 4 }, problem)).to.include(`${told}; and others). GET`);
  });
});
