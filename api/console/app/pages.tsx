import type { FunctionComponent } from 'preact';
import type { Role } from '../../../shared/contract/roles.js';
import { LeadPage } from './pages/leads/lead.js';
import { LeadsPage } from './pages/leads/leads.js';
import { PlaygroundPage } from './pages/leads/playground.js';
import { ComparePage } from './pages/models/compare/compare.js';
import { ModelPage } from './pages/models/model.js';
import { ModelsPage } from './pages/models/models.js';
import { FleetPage } from './pages/operator/fleet.js';
import { OrganisationsPage } from './pages/operator/orgs.js';
import { AuditPage } from './pages/organisation/audit.js';
import { CrmPage } from './pages/organisation/crm.js';
import { KeysPage } from './pages/organisation/keys/keys.js';
import { OverviewPage } from './pages/organisation/overview.js';
import { OperatorSessionsPage, SessionsPage } from './pages/organisation/sessions.js';
import { SettingsPage } from './pages/organisation/settings.js';
import { UsagePage } from './pages/organisation/usage.js';
import type { IconName } from './parts/icon.js';
import { later } from './parts/later.js';

/** A page: its address below the base, the least role, and its position in the menu. */
interface PageEntry {
  readonly address: string;
  readonly role: Role;
  readonly component: FunctionComponent;
  /** Absent for pages that other pages link to. */
  readonly menu?: string;
  /** The drawing before the name in the menu. */
  readonly icon?: IconName;
  readonly group: '' | 'Connect' | 'Settings' | 'Operator';
  readonly isOfOperator?: boolean;
}

const OutcomesPage = later(async () => (await import('./pages/outcomes/outcomes.js')).OutcomesPage);
const RefusedCallsPage = later(async () => (await import('./pages/organisation/refused-calls.js')).RefusedCallsPage);
const JobsPage = later(async () => (await import('./pages/jobs/jobs.js')).JobsPage);
const NewJobPage = later(async () => (await import('./pages/jobs/new-job.js')).NewJobPage);
const JobPage = later(async () => (await import('./pages/jobs/job.js')).JobPage);

/** All pages behind the sign-in, in the order of the menu. */
export const pages: readonly PageEntry[] = [
  { address: '/', role: 'viewer', component: OverviewPage, menu: 'Overview', icon: 'home', group: '' },
  { address: '/models', role: 'viewer', component: ModelsPage, menu: 'Models', icon: 'cube', group: '' },
  { address: '/models/:id', role: 'viewer', component: ModelPage, group: '' },
  { address: '/models/:id/compare', role: 'viewer', component: ComparePage, group: '' },
  { address: '/leads', role: 'admin', component: LeadsPage, menu: 'Leads', icon: 'people', group: '' },
  { address: '/leads/:id', role: 'admin', component: LeadPage, group: '' },
  { address: '/jobs', role: 'admin', component: JobsPage, menu: 'Jobs', icon: 'file', group: '' },
  { address: '/jobs/new', role: 'admin', component: NewJobPage, group: '' },
  { address: '/jobs/:id', role: 'admin', component: JobPage, group: '' },
  { address: '/outcomes', role: 'admin', component: OutcomesPage, menu: 'Outcomes', icon: 'flag', group: '' },
  { address: '/playground', role: 'admin', component: PlaygroundPage, menu: 'Playground', icon: 'play', group: '' },
  { address: '/keys', role: 'admin', component: KeysPage, menu: 'API keys', icon: 'key', group: 'Connect' },
  { address: '/crm', role: 'viewer', component: CrmPage, menu: 'CRM set-up', icon: 'plug', group: 'Connect' },
  {
    address: '/refused-calls',
    role: 'viewer',
    component: RefusedCallsPage,
    menu: 'Refused calls',
    icon: 'barred',
    group: 'Connect',
  },
  { address: '/usage', role: 'viewer', component: UsagePage, menu: 'Usage', icon: 'bars', group: 'Settings' },
  {
    address: '/settings',
    role: 'viewer',
    component: SettingsPage,
    menu: 'Settings',
    icon: 'sliders',
    group: 'Settings',
  },
  {
    address: '/sessions',
    role: 'viewer',
    component: SessionsPage,
    menu: 'Sessions',
    icon: 'screen',
    group: 'Settings',
  },
  { address: '/audit', role: 'viewer', component: AuditPage, menu: 'Audit log', icon: 'page', group: 'Settings' },
  ...[
    { address: '/orgs', component: OrganisationsPage, menu: 'Organisations', icon: 'building' as const },
    {
      address: '/operator-sessions',
      component: OperatorSessionsPage,
      menu: 'Operator sessions',
      icon: 'screen' as const,
    },
    { address: '/fleet', component: FleetPage, menu: 'Queues and workers', icon: 'queue' as const },
  ].map((page) => ({ ...page, role: 'operator', group: 'Operator', isOfOperator: true }) as const),
];
