import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { csvCells } from '../../../scripts/cli/files/csv-cells.js';
import { openInput } from '../../../scripts/cli/files/input-file.js';
import { ConvertedValues } from '../../../shared/admin/outcomes/converted-values.js';
import { databaseSink } from '../../../shared/admin/outcomes/database-sink.js';
import { importOutcomes } from '../../../shared/admin/outcomes/import-outcomes.js';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { scored } from '../../support/http/score-reply.js';
import { leaveOut } from '../../support/leave-out.js';
import { runningService, startTimeoutMs } from '../../support/service/service.js';
import { type SentRecord, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { figuresOf, gatewayOfThen, gradeAfter, thenMs, validationOf } from './graded-leads.js';

const leadsFile = projectFile('../shared/data/x-education-leads.csv.gz');
const bundleDirectory = projectFile('../shared/models/x-education');
const leadId = 'Prospect ID';

describe('validation of real leads', () => {
  let own: TestWorkspace;
  let leads: number;

  before(async function () {
    this.timeout(startTimeoutMs + 60_000);
    for (const path of [leadsFile, bundleDirectory])
      if (!existsSync(path))
        leaveOut(this, 'real leads and their model are not beside this project', `put them at ${path}`);
    const service = await runningService();
    const bundle = await readBundle(bundleDirectory);
    own = await workspace(service, { bundle, limit: 20_000 });
    const earlier = await gatewayOfThen(service);
    leads = await scoreFile(own, earlier.url).finally(() => earlier.stop());
  });

  it('passes the model that was trained on the real leads, with rates that rise from band to band', async function () {
    this.timeout(60_000);
    const { service } = own;
    const report = await importOutcomes({
      pieces: (await openInput(leadsFile)).pieces(),
      sink: databaseSink({
        organisationId: own.id,
        store: new OutcomeStore(service.stores.database),
        predictions: new PredictionStore(service.stores.database),
        receivedAt: new Date(thenMs(service)),
        batchRows: 1_000,
      }),
      columns: { crmId: leadId, converted: 'Converted', at: undefined },
      values: new ConvertedValues(),
      correctsDates: false,
      now: new Date(thenMs(service)),
      optionText: (name) => name,
    });
    expect(report).to.include({ rows: 9240, accepted: 9240, refused: 0, converted: 3561, complete: true });

    await gradeAfter(own, 89);
    expect(await validationOf(own)).to.include({
      state: 'too_early_to_grade',
      failing_gate: 'matured_cohort',
    });
    await gradeAfter(own, 91);
    const validation = await validationOf(own);
    expect(validation).to.include({ state: 'passed', failing_gate: null });
    expect(figuresOf(validation, 'cohort_reconciles')).to.include({
      ledger_records: leads,
      stored_rows: leads,
      cohort: 9240,
      joined: 9240,
      repeats: 0,
      excluded: 0,
    });
    // The lift is 2.39 on the holdout of the bundle; these leads are mostly its training data.
    expect(figuresOf(validation, 'top_band_lift').lift).to.be.within(2.1, 2.6);
    const { conversions, expected_conversions: expected } = figuresOf(validation, 'outcomes_observed');
    expect(conversions).to.equal(3561);
    expect(expected).to.be.within(3561 * 0.9, 3561 * 1.1); // its likelihoods are calibrated
    const rates = (validation.bands ?? []).map(({ rate }) => rate);
    expect(rates).to.deep.equal([...rates].sort((one, other) => one - other));
    expect(rates.at(0)).to.be.below(0.1);
    expect(rates.at(-1)).to.be.above(0.85);
    for (const { records, rate, low, high } of validation.bands ?? []) {
      expect(records).to.be.within(1400, 2300); // scores are percentiles: about a fifth in each band
      expect(low).to.be.below(rate);
      expect(high).to.be.above(rate);
    }
  });
});

/** Scores the whole file without the outcomes of the leads. Returns the number of leads. */
async function scoreFile(own: TestWorkspace, url: string | undefined): Promise<number> {
  let batch: SentRecord[] = [];
  let count = 0;
  const send = async (): Promise<void> => {
    if (batch.length > 0) count += scored(await own.score(batch, { url })).scores.length;
    batch = [];
  };
  for await (const cells of csvCells(leadsFile)) {
    const values = [...cells].filter(([name, cell]) => cell !== '' && name !== 'Converted');
    batch.push(Object.fromEntries(values.map(([name, cell]) => [name === leadId ? 'crm_id' : name, cell])));
    if (batch.length === 1000) await send();
  }
  await send();
  return count;
}
