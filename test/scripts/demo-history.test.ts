import { expect } from 'chai';
import type { ScoreRow } from '../../scripts/cli/calls/api-reply.js';
import { type PastStates, pastRows, pastSpan, pastStates } from '../../scripts/demo/tour/past-states.js';
import { type GeneratedLead, generateLeads } from '../../scripts/leads/lead-generator.js';
import { readBundle } from '../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { projectFile } from '../../shared/process/project-root.js';
import { compileModel, type LoadedModel } from '../../worker/models/loaded-model.js';

const nowMs = Date.UTC(2026, 10, 20, 12);
const { fromMs } = pastSpan(nowMs);
/** The fields that may change in the made-up past. */
const changing = [
  ...['Last Activity Date', 'Website Visits (30d)', 'Pages Per Visit', 'Email Opens', 'Email Opt Out'],
  ...['Demo Requested', 'Seniority'],
];

describe("the past of the demo's leads", () => {
  const leads = generateLeads({ seed: 2026, count: 2_000, now: new Date(nowMs) });
  let states: PastStates;
  let model: LoadedModel;

  before(async () => {
    states = pastStates(leads, { fromMs, nowMs });
    const bundle = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
    model = await compileModel(bundle.manifest, bundle.onnx);
  });
  after(() => model.session.release());

  /** The scores and fields of leads at a time. Their scores of today are 1. */
  const at = (some: readonly GeneratedLead[], atMs: number) => {
    const row = { score: 1, conversion_likelihood: 0.01 } as ScoreRow;
    return pastRows({ atMs, leads: some.map((lead) => ({ lead, row })) }, { states, model });
  };

  it('has several states of a part of the leads, each with a change of activity, and the same for the same leads', () => {
    expect(pastStates(leads, { fromMs, nowMs })).to.deep.equal(states);
    expect(states.size / leads.length).to.be.within(0.08, 0.3);
    for (const [lead, own] of states) {
      expect(own.length).to.be.within(3, 4);
      expect(own.at(-1)?.record).to.equal(lead.record);
      for (const [index, { fromMs: since, record }] of own.entries()) {
        const before = own[index - 1];
        expect(record.crm_id).to.equal(lead.record.crm_id);
        expect(Date.parse(String(record['Last Activity Date'])), 'the activity begins the state').to.be.closeTo(
          since,
          1e3,
        );
        if (before === undefined) continue;
        expect(since).to.be.above(before.fromMs);
        const changed = Object.keys(record).filter((name) => record[name] !== before.record[name]);
        expect(changed).to.include('Last Activity Date');
        expect(changed.filter((name) => !changing.includes(name))).to.deep.equal([]);
      }
    }
  });

  it('has scores of the model that rise for some leads and fall for others, and the fields that they come from', async () => {
    const moving = [...states.keys()];
    const first = await at(moving, fromMs);
    const last = await at(moving, nowMs);
    const moves = moving.map((_, index) => (last[index]?.score ?? 0) - (first[index]?.score ?? 0));
    expect(moves.filter((move) => move >= 10).length / moving.length).to.be.above(0.2);
    expect(moves.filter((move) => move <= -10).length / moving.length).to.be.above(0.1);
    expect(first.filter(({ fields }, index) => fields === last[index]?.fields)).to.deep.equal([]);
    const { knownFields, featureRow, session } = model;
    for (const [index, { record }] of moving.slice(0, 50).entries()) {
      const cells = knownFields.pack(record);
      const row = new Float32Array(featureRow.width);
      expect(featureRow.write({ cells, nowMs, out: row, offset: 0 })).to.equal(undefined);
      const [probability = Number.NaN] = await session.run(row, 1);
      expect(last[index]?.score).to.equal(model.percentileScore(probability));
      expect(last[index]?.likelihood).to.equal(model.likelihood(probability));
    }
  });

  it('leaves the other leads with their record and their score of today', async () => {
    const others = leads.filter((lead) => !states.has(lead)).slice(0, 100);
    for (const [index, row] of (await at(others, fromMs)).entries()) {
      const { crm_id: crmId, ...record } = others[index]?.record ?? {};
      const fields = JSON.stringify(model.knownFields.pack(record));
      expect(row).to.deep.equal({ crmId, fields, score: 1, likelihood: 100 });
    }
  });
});
