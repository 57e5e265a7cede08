import type { Organisation } from '../../../shared/store/accounts/organisations.js';
import type { Model } from '../../../shared/store/models/models.js';

const created_at = new Date(0);

export const organisationOf = (more: Partial<Organisation> = {}): Organisation => ({
  ...{ _id: 'org', name: 'Organisation', plan: 'pro', policy: 'warn', created_at },
  ...more,
});

export const modelOf = (more: Partial<Model> = {}): Model => ({
  ...{ _id: 'mdl', organisation_id: 'org', name: 'Model', family: 'forward', live_api: true, version: '1', created_at },
  ...more,
});
