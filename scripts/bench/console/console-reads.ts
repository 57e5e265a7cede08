import { type ActionRoute, actionRoutes } from '../../../shared/admin/actions.js';
import { dayMs, dayNumber, dayText, monthOf } from '../../../shared/contract/dates.js';
import { crmIdOf } from '../fleet/fleet-predictions.js';
import type { ConsoleOrganisation } from './console-organisation.js';

/** A call of an action that reads. */
export interface ConsoleRead {
  readonly name: string;
  readonly action: ActionRoute['action'];
  readonly input: Readonly<Record<string, unknown>>;
}

/** Every read of the console's API, and some of them again with the inputs that take it longest. */
export function readsOf(
  organisation: Pick<ConsoleOrganisation, 'organisationId' | 'uploadId' | 'keyIds' | 'modelIds'>,
  nowMs: number,
): ConsoleRead[] {
  const { organisationId, uploadId, keyIds, modelIds } = organisation;
  const daysAgo = (days: number) => dayText(dayNumber(nowMs - days * dayMs));
  const crmId = crmIdOf(7);
  const needed: Readonly<Record<string, unknown>> = {
    ...{ org_id: organisationId, key_id: keyIds[0], model_id: modelIds[0], upload_id: uploadId },
    ...{ crm_id: crmId, prefix: 'LEAD-1' },
  };
  const further: Readonly<Record<string, Readonly<Record<string, object>>>> = {
    'org.list': { 'a page of 50 with usage': { limit: 50, with_usage: true } },
    'overview.show': { 'test keys': { bucket: 'test' } },
    'usage.show': { 'an earlier month': { month: monthOf(nowMs - 90 * dayMs) } },
    'usage.days': {
      '92 days': { from: daysAgo(91), to: daysAgo(0) },
      '92 earlier days': { from: daysAgo(241), to: daysAgo(150) },
    },
    'lead.search': { 'a whole id': { prefix: crmId }, 'no lead': { prefix: 'LEAD-x' } },
    'model.coverage': { '90 days': { days: 90 } },
    'audit.list': { 'one person': { actor: 'Ada' }, 'one kind': { kind: 'org' }, 'one lead': { lead: crmId } },
  };
  return actionRoutes.flatMap(({ method, action }): ConsoleRead[] => {
    if (method !== 'get') return [];
    const names = Object.keys(action.input.properties as object);
    const input = Object.fromEntries(names.flatMap((name) => (name in needed ? [[name, needed[name]]] : [])));
    const others = Object.entries(further[action.name] ?? {}).map(([what, members]) => ({
      ...{ name: `${action.name}, ${what}`, action, input: { ...input, ...members } },
    }));
    return [{ name: action.name, action, input }, ...others];
  });
}
