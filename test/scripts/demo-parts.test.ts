import { execFileSync } from 'node:child_process';
import { expect } from 'chai';
import fc from 'fast-check';
import { fillLines, wrapJson, wrapText } from '../../scripts/cli/output/wrap-text.js';
import { rankingQuality } from '../../scripts/demo/tour/figures.js';
import { singleCall } from '../../scripts/demo/tour/score-calls.js';
import { changedLeads, generateLeads } from '../../scripts/leads/lead-generator.js';

const now = new Date('2026-11-20T12:00:00Z');
const target = { baseUrl: 'http://127.0.0.1:1', apiKey: 'a_sk_b', modelId: 'mdl_c' };
const outcome = fc.record({ score: fc.integer({ min: 0, max: 100 }), converted: fc.boolean() });

describe('demo parts', () => {
  it('rankingQuality returns the AUC that a comparison of every pair returns', () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), (outcomes) => {
        const wins: number[] = [];
        for (const one of outcomes.filter((each) => each.converted)) {
          for (const other of outcomes.filter((each) => !each.converted))
            wins.push(one.score > other.score ? 1 : one.score === other.score ? 0.5 : 0);
        }
        const { auc } = rankingQuality(outcomes);
        if (wins.length === 0) expect(auc).to.equal(null);
        else expect(auc).to.be.closeTo(wins.reduce((sum, win) => sum + win, 0) / wins.length, 1e-12);
      }),
    );
  });

  it('rankingQuality counts every lead in the band of its score', () => {
    const scores = [0, 19, 20, 79, 80, 99, 100];
    const { bands, converted } = rankingQuality(scores.map((score) => ({ score, converted: score >= 80 })));
    expect(bands.map((band) => [band.label, band.leads, band.converted, band.rate])).to.deep.equal([
      ['0-19', 2, 0, 0],
      ['20-39', 1, 0, 0],
      ['40-59', 0, 0, null],
      ['60-79', 1, 0, 0],
      ['80-100', 3, 3, 1],
    ]);
    expect(converted).to.equal(3);
  });

  it('rankingQuality throws RangeError for a score above 100', () => {
    expect(() => rankingQuality([{ score: 101, converted: true }])).to.throw(RangeError, '101');
  });

  it('changedLeads returns the crm_id and new values, for about one lead in ten, and the same for the same seed', () => {
    const leads = generateLeads({ seed: 3, count: 2000, now }).map((lead) => lead.record);
    const changes = changedLeads(leads, { seed: 3, now });
    expect(changedLeads(leads, { seed: 3, now })).to.deep.equal(changes);
    expect(changes).to.have.length(leads.length);
    for (const [index, { record, what }] of changes.entries()) {
      const { crm_id: crmId, ...fields } = record;
      expect(crmId).to.equal(leads[index]?.crm_id);
      for (const [name, value] of Object.entries(fields)) expect(value).to.not.equal(leads[index]?.[name]);
      if (what === undefined) expect(fields).to.deep.equal({});
    }
    expect(changes.filter((change) => change.what !== undefined).length).to.be.within(150, 250);
  });

  it('singleCall writes a curl line that a shell splits into the request, for any field value', () => {
    const value = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.double({ noNaN: true }), fc.boolean());
    const records = fc.dictionary(fc.constantFrom('Company', "O'Neill", '$HOME', '`id`', '!!'), value);
    fc.assert(
      fc.property(records, (record) => {
        const call = singleCall(target, record);
        const script = `curl() { printf '%s\\0' "$@"; }\n${call.curl}`;
        const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0');
        const [authorization, contentType] = Object.entries(call.headers).map((pair) => pair.join(': '));
        const expected = ['-s', call.url, '-H', authorization, '-H', contentType, '-d', call.body, ''];
        expect(words).to.deep.equal(expected);
        expect(JSON.parse(call.body)).to.deep.equal({
          ...{ model_id: 'mdl_c', explain: true },
          records: [JSON.parse(JSON.stringify(record))],
        });
      }),
      { numRuns: 40 },
    );
  });

  it('singleCall leaves out null fields', () => {
    const record = { crm_id: 'LEAD-1', Industry: null, Company: "O'Neill" };
    const call = singleCall(target, record);
    expect(JSON.parse(call.body).records).to.deep.equal([{ crm_id: 'LEAD-1', Company: "O'Neill" }]);
  });

  it('wrapText, wrapJson and fillLines keep every piece, in lines within the width', () => {
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 60 }), (words) => {
        const lines = wrapText(words.join(' '), 40).split('\n');
        expect(lines.join(' ')).to.equal(words.join(' '));
        for (const line of lines) expect(line.length).to.be.at.most(40);
        const json = JSON.stringify(Object.fromEntries(words.map((each, index) => [each, index])));
        const wrapped = wrapJson(json, { label: '  sent  ' });
        expect(wrapped.replaceAll(/\n {8}/g, '')).to.equal(`  sent  ${json}`);
        for (const line of wrapped.split('\n')) expect(line.length).to.be.at.most(80);
      }),
    );
    expect(fillLines(['far too long', 'x'], { width: 4, joint: ' ' })).to.deep.equal(['far too long', 'x']);
  });
});
