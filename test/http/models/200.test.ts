import { expect } from 'chai';
import { validationGates } from '../../../shared/contract/verdict.js';
import { sampleBundle, sampleFeatures } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { read } from '../scores/history.js';
import type { ValidationBody } from '../validation/graded-leads.js';

describe('200 of GET /v1/models', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  it('lists the organisation’s models with verdict and Live API switch, without deleted ones', async () => {
    const off = await own.addModel({ liveApi: false, bundle: sampleBundle({ name: 'Off', version: '7' }) });
    const timing = await own.addModel({ bundle: sampleBundle({ family: 'timing' }) });
    const gone = await own.addModel();
    await service.stores.models.update(gone._id, { deleted_at: new Date(service.clock.now()) });
    const { models } = read<{ models: { model_id: string; validation: object }[] }>(await own.call('/v1/models'));
    expect(models.map(({ model_id }) => model_id)).to.have.members([own.model._id, off._id, timing._id]);
    const listed = (id: string) => models.find(({ model_id }) => model_id === id);
    expect(listed(off._id)).to.deep.include({
      name: 'Off',
      version: '7',
      family: 'forward',
      live_api: false,
    });
    expect(listed(own.model._id)).to.deep.include({ name: 'Sample score', live_api: true });
    expect(listed(own.model._id)?.validation).to.include({ state: 'too_early_to_grade' });
    expect(listed(timing._id)?.validation).to.include({ state: 'not_applicable', failing_gate: null });
  });
});

describe('200 of GET /v1/models/{model_id}', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  it('returns the fields, their requirements, the recency guard and the explain method', async () => {
    const recency = { field: 'seen_at', max_age_days: 30 };
    const model = await own.addModel({ bundle: sampleBundle({ manifest: { recency } }) });
    const answer = read<Record<string, unknown>>(await own.call(`/v1/models/${model._id}`));
    expect(answer).to.deep.include({
      model_id: model._id,
      name: 'Sample score',
      version: '1.0.0',
      recency,
      explain: { method: 'linear' },
      fields: [
        { field: 'company_size', label: 'Company size', type: 'number', required: false },
        { field: 'demo_requested', label: 'Demo requested', type: 'boolean', required: false },
        {
          field: 'lead_source',
          label: 'Lead source',
          type: 'category',
          required: false,
          categories: ['Webinar', 'Referral'],
        },
      ],
    });
    const plain = read<object>(await own.call(`/v1/models/${own.model._id}`));
    expect(plain).to.not.have.property('recency');
  });

  it('returns the date_order of a date field, and none for other fields or dates without one', async () => {
    const dates = [
      { field: 'created', label: 'Created', type: 'date', impute: 0, columns: [0], date_order: 'dmy' },
      { field: 'closed', label: 'Closed', type: 'date', impute: 0, columns: [1] },
    ] as const;
    const features = [...dates, ...sampleFeatures.slice(2)];
    const model = await own.addModel({ bundle: sampleBundle({ features }) });
    const { fields } = read<{ fields: object[] }>(await own.call(`/v1/models/${model._id}`));
    expect(fields[0]).to.deep.equal({
      ...{ field: 'created', label: 'Created', type: 'date', required: false, date_order: 'dmy' },
    });
    for (const other of fields.slice(1)) expect(other).to.not.have.property('date_order');
  });

  it('lists the six gates of a model that was never graded as not reached, each with its reason', async () => {
    const { validation } = read<{ validation: ValidationBody }>(await own.call(`/v1/models/${own.model._id}`));
    expect(validation).to.have.all.keys('state', 'failing_gate', 'summary', 'gates');
    expect(validation.gates?.map(({ gate, state, needs }) => [gate, state, typeof needs])).to.deep.equal(
      validationGates.map((gate) => [gate, 'not_reached', 'string']),
    );
  });

  it('returns the aliases of fields, and the explain method tree', async () => {
    const features = sampleFeatures.map((feature) => ({ ...feature, aliases: [`${feature.field}_alias`] }));
    const model = await own.addModel({ bundle: sampleBundle({ features, model: 'tree' }) });
    const { fields, explain } = read<{ fields: object[]; explain: object }>(await own.call(`/v1/models/${model._id}`));
    expect(fields[0]).to.deep.include({ field: 'company_size', aliases: ['company_size_alias'] });
    expect(explain).to.deep.equal({ method: 'tree' });
  });
});
