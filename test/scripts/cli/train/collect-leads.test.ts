import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { CliContext } from '../../../../scripts/cli/context/cli-context.js';
import { Connections } from '../../../../scripts/cli/context/connections.js';
import {
  type CollectedLeads,
  type CollectOptions,
  collectLeads,
} from '../../../../scripts/cli/train/stored/collect-leads.js';
import { readOperatorConfig } from '../../../../shared/config/config.js';
import { machineClock } from '../../../../shared/contract/dates.js';
import { ErasureStore } from '../../../../shared/store/calls/erasures.js';
import { failureOf } from '../../../support/failure-of.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';
import { StoredWorld } from './stored-world.js';

const reported = '2026-10-01T00:00:00Z';

describe('collectLeads', () => {
  let desk: OperatorDesk;
  let connections: Connections;
  before(async () => {
    desk = await operatorDesk();
    connections = new Connections(readOperatorConfig(desk.settings));
  });
  after(async () => {
    await connections.close();
    await desk.leave();
  });

  /** A model with leads of one call: `named` of them have an outcome, and `converted` of these converted. */
  async function worldWith(of: { leads: number; named?: number; converted: number }): Promise<StoredWorld> {
    const { leads, named = leads, converted } = of;
    const own = await StoredWorld.ofOrganisation(desk.stores.database, await desk.newOrganisation());
    const names = Array.from({ length: leads }, (_, index) => `person-${index}`);
    await own.call(
      '2026-05-01',
      names.map((crmId, index) => ({ crmId, cells: [index] })),
    );
    const outcomes = names.slice(0, named).map((crmId, index) => ({ crmId, converted: index < converted }));
    await own.outcomes(outcomes, '2026-06-01', reported);
    return own;
  }

  async function collect(
    { ids: { organisationId, modelId } }: StoredWorld,
    options: Partial<CollectOptions> = {},
    answer?: boolean,
  ): Promise<CollectedLeads> {
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
    const context: CliContext = {
      ...{ ...streams, connections, config: readOperatorConfig(desk.settings), clock: machineClock(0) },
      canAsk: answer !== undefined,
      confirm: async () => answer ?? true,
      ask: async () => undefined,
      readSecret: async () => '',
      present: async () => undefined,
    };
    const { signal } = new AbortController();
    return await collectLeads(context, { organisationId, modelId, skipped: [], yes: false, signal, ...options });
  }

  const entriesOf = async ({ ids }: StoredWorld): Promise<string[]> => {
    const { stdout } = await desk.run('audit', ids.organisationId, '--action', 'model.train', '--json');
    return stdout.split('\n').filter((line) => line !== '');
  };

  it('writes each lead as a line without its id, and one entry of the audit log', async () => {
    const own = await worldWith({ leads: 200, converted: 30 });
    const { rows, counts } = await collect(own);
    const lines = (await text(rows.bytes())).trimEnd().split('\n');
    await rows.close();
    expect(lines).to.have.length(200);
    expect(JSON.parse(lines[7] ?? '')).to.deep.equal({
      at: '2026-05-01T00:00:00.000Z',
      ...{ score: 50, likelihood: 0.5, version: '2.0.0', cells: [7, null, null], converted: true, days: 31 },
    });
    expect(lines.join()).to.not.include('person');
    expect(counts).to.deep.include({ leads: 200, conversions: 30 });
    const entries = await entriesOf(own);
    expect(entries).to.have.length(1);
    expect(JSON.parse(entries[0] ?? '')).to.deep.include({
      target: own.ids.modelId,
      after: { version: '2.0.0', leads: 200, conversions: 30, skipped: [] },
    });
  });

  it('refuses fewer than 200 leads, 30 conversions or 30 others, and says what was left out', async () => {
    for (const of of [
      { leads: 199, converted: 60 },
      { leads: 200, converted: 29 },
      { leads: 200, converted: 171 },
    ]) {
      const failure = await failureOf(collect(await worldWith(of)));
      expect(failure).to.deep.include({ code: 'too_few_leads' });
    }
    const own = await worldWith({ leads: 250, named: 190, converted: 60 });
    await own.call('2026-05-01', [{ crmId: 'other' }], '1.0.0');
    await own.call('2026-09-01', [{ crmId: 'young' }]);
    const failure = String(await failureOf(collect(own)));
    expect(failure)
      .to.include('There are 190, of which 60 converted')
      .and.include('1 first scored after 2026-07-03, whose horizon is not over; 60 without an outcome.')
      .and.include(
        '1 leads were scored by version "1.0.0" without lead_source: --skip "lead_source" brings them back.',
      );
    expect(await entriesOf(own)).to.deep.equal([]);
  });

  it('wants a word when outcomes name less than 95 % of the leads', async () => {
    const own = await worldWith({ leads: 301, named: 285, converted: 60 });
    const failure = await failureOf(collect(own));
    expect(failure).to.deep.include({ code: 'unnamed_leads', details: { leads: 285, unnamed: 16 } });
    expect(String(failure)).to.include('Outcomes name 94.6 % of the leads').and.include('--yes');
    expect(await failureOf(collect(own, {}, false))).to.include({ code: 'declined' });
    expect(await entriesOf(own)).to.deep.equal([]);
    for (const found of [await collect(own, {}, true), await collect(own, { yes: true })]) await found.rows.close();
    const enough = await collect(await worldWith({ leads: 300, named: 285, converted: 60 }));
    await enough.rows.close();
  });

  it('discards the rows when a lead was erased while they were read', async () => {
    const own = await worldWith({ leads: 200, converted: 40 });
    const atMs = Date.now();
    const lead = { organisationId: own.ids.organisationId, crmId: 'person-1' };
    await new ErasureStore(desk.stores.database).add(lead, {
      hash: 'hash of a lead',
      ...{ atMs, dueMs: atMs + 90_000, wasKnown: true },
    });
    expect(await failureOf(collect(own))).to.include({ code: 'erased_meanwhile' });
    expect(await entriesOf(own)).to.deep.equal([]);
  });

  it('knows no model of another organisation', async () => {
    const own = await worldWith({ leads: 1, converted: 0 });
    const failure = await failureOf(collect(own, { organisationId: await desk.newOrganisation() }));
    expect(failure).to.include({ code: 'not_found' });
  });
});
