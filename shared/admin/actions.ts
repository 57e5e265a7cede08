import type { Schema } from '../contract/schema.js';
import type { Action } from './action.js';
import { showAttention } from './attention/show-attention.js';
import { showFleet } from './fleet.js';
import { listJobs } from './jobs/list-jobs.js';
import { showCrm } from './leads/crm.js';
import { eraseLead } from './leads/erase-lead.js';
import { exportLead } from './leads/export-lead.js';
import { searchLeads, showLead } from './leads/read-leads.js';
import { recentLeads } from './leads/recent-leads.js';
import { dropCandidate, setCandidate } from './models/candidates/candidates.js';
import { showComparison } from './models/candidates/compare-candidate.js';
import { promoteCandidate, rollBackModel } from './models/candidates/promotion.js';
import { deleteModel, overrideModel, removeOverride, setModel } from './models/change-models.js';
import { showCoverage } from './models/model-coverage.js';
import { showExample } from './models/model-example.js';
import { reportModel } from './models/model-report.js';
import { listModels, showModel } from './models/read-models.js';
import { importUpload, showUpload } from './models/upload-actions.js';
import { createOrganisation, setOrganisation } from './organisations/change-organisations.js';
import { deleteOrganisation, undeleteOrganisation } from './organisations/deletion.js';
import { createKey, findKey, listKeys, revokeKey, setKey } from './organisations/key-actions.js';
import { listDeletions } from './organisations/list-deletions.js';
import { listOrganisations, showOrganisation } from './organisations/read-organisations.js';
import { showStanding } from './organisations/show-standing.js';
import { resumeOrganisation, suspendOrganisation } from './organisations/suspension.js';
import { setOutcomes, showOutcomes } from './outcomes/outcome-actions.js';
import { showOutcomeDays } from './outcomes/outcome-days.js';
import { createLink, createToken, listTokens, revokeToken } from './people/access-actions.js';
import { listAudit, listOperatorAudit } from './people/audit-actions.js';
import { addMember, listMembers, removeMember, setMember } from './people/member-actions.js';
import {
  endOperatorSession,
  endOwnSession,
  endSession,
  listOperatorSessions,
  listOwnSessions,
  listSessions,
} from './people/session-actions.js';
import { showOverview } from './usage/overview.js';
import { listRefusedCalls } from './usage/refused-calls.js';
import { showUsage } from './usage/show-usage.js';
import { showUsageDays } from './usage/usage-of-days.js';

/** An action at an address below `/admin/v1`. Parameters of the path are members of its input. */
export interface ActionRoute {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly path: string;
  // The table holds actions of any types: `runAction` checks every input against its schema.
  readonly action: Action<Schema, Schema, undefined, unknown>;
}

export const route = (method: ActionRoute['method'], path: string, action: ActionRoute['action']): ActionRoute => ({
  method,
  path,
  action,
});

/** Every action that the console offers over HTTP, except those of its own. Routes and OpenAPI are made from it. */
export const actionRoutes: readonly ActionRoute[] = [
  route('get', '/orgs', listOrganisations),
  route('post', '/orgs', createOrganisation),
  route('get', '/orgs/:org_id', showOrganisation),
  route('patch', '/orgs/:org_id', setOrganisation),
  route('get', '/orgs/:org_id/standing', showStanding),
  route('post', '/orgs/:org_id/suspension', suspendOrganisation),
  route('delete', '/orgs/:org_id/suspension', resumeOrganisation),
  route('post', '/orgs/:org_id/deletion', deleteOrganisation),
  route('delete', '/orgs/:org_id/deletion', undeleteOrganisation),
  route('get', '/orgs/:org_id/keys', listKeys),
  route('post', '/orgs/:org_id/keys', createKey),
  route('post', '/orgs/:org_id/key-search', findKey),
  route('patch', '/orgs/:org_id/keys/:key_id', setKey),
  route('delete', '/orgs/:org_id/keys/:key_id', revokeKey),
  route('get', '/orgs/:org_id/models', listModels),
  route('get', '/orgs/:org_id/models/:model_id', showModel),
  route('patch', '/orgs/:org_id/models/:model_id', setModel),
  route('delete', '/orgs/:org_id/models/:model_id', deleteModel),
  route('post', '/orgs/:org_id/models/:model_id/override', overrideModel),
  route('delete', '/orgs/:org_id/models/:model_id/override', removeOverride),
  route('post', '/orgs/:org_id/models/:model_id/candidate', setCandidate),
  route('delete', '/orgs/:org_id/models/:model_id/candidate', dropCandidate),
  route('get', '/orgs/:org_id/models/:model_id/comparison', showComparison),
  route('post', '/orgs/:org_id/models/:model_id/promote', promoteCandidate),
  route('post', '/orgs/:org_id/models/:model_id/rollback', rollBackModel),
  route('get', '/orgs/:org_id/models/:model_id/report', reportModel),
  route('get', '/orgs/:org_id/models/:model_id/coverage', showCoverage),
  route('get', '/orgs/:org_id/models/:model_id/example', showExample),
  route('get', '/orgs/:org_id/overview', showOverview),
  route('get', '/orgs/:org_id/attention', showAttention),
  route('get', '/orgs/:org_id/usage', showUsage),
  route('get', '/orgs/:org_id/usage/days', showUsageDays),
  route('get', '/orgs/:org_id/refused-calls', listRefusedCalls),
  route('get', '/orgs/:org_id/crm', showCrm),
  route('get', '/orgs/:org_id/recent-leads', recentLeads),
  route('get', '/orgs/:org_id/leads', searchLeads),
  route('get', '/orgs/:org_id/leads/:crm_id', showLead),
  route('get', '/orgs/:org_id/leads/:crm_id/export', exportLead),
  route('delete', '/orgs/:org_id/leads/:crm_id', eraseLead),
  route('get', '/orgs/:org_id/jobs', listJobs),
  route('get', '/orgs/:org_id/outcomes', showOutcomes),
  route('get', '/orgs/:org_id/models/:model_id/outcome-days', showOutcomeDays),
  route('patch', '/orgs/:org_id/outcomes', setOutcomes),
  route('get', '/orgs/:org_id/uploads/:upload_id', showUpload),
  route('post', '/orgs/:org_id/uploads/:upload_id/import', importUpload),
  route('get', '/orgs/:org_id/audit', listAudit),
  route('get', '/orgs/:org_id/members', listMembers),
  route('post', '/orgs/:org_id/members', addMember),
  route('patch', '/orgs/:org_id/members/:member_id', setMember),
  route('delete', '/orgs/:org_id/members/:member_id', removeMember),
  route('get', '/orgs/:org_id/sessions', listSessions),
  route('delete', '/orgs/:org_id/sessions/:session_id', endSession),
  route('get', '/sessions/own', listOwnSessions),
  route('delete', '/sessions/own/:session_id', endOwnSession),
  route('get', '/sessions/operators', listOperatorSessions),
  route('delete', '/sessions/operators/:session_id', endOperatorSession),
  route('post', '/links', createLink),
  route('get', '/deletions', listDeletions),
  route('get', '/audit', listOperatorAudit),
  route('get', '/fleet', showFleet),
  route('get', '/tokens', listTokens),
  route('post', '/tokens', createToken),
  route('delete', '/tokens/:token_id', revokeToken),
];
