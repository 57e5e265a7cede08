import type { Role } from '../../../shared/contract/roles.js';
import type { IconName } from './parts/icon.js';
import { type LaterPage, later } from './parts/later.js';

/** A page: its address below the base, the least role, and its position in the menu. */
interface PageEntry extends LaterPage {
  readonly address: string;
  readonly role: Role;
  /** Absent for pages that other pages link to. */
  readonly menu?: string;
  /** The drawing before the name in the menu. */
  readonly icon?: IconName;
  readonly group: '' | 'Connect' | 'Settings' | 'Operator';
  readonly isOfOperator?: boolean;
}

/** All pages behind the sign-in, in the order of the menu. */
export const pages: readonly PageEntry[] = [
  {
    address: '/',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/overview.js')).OverviewPage),
    menu: 'Overview',
    icon: 'home',
    group: '',
  },
  {
    address: '/models',
    role: 'viewer',
    ...later(async () => (await import('./pages/models/models.js')).ModelsPage),
    menu: 'Models',
    icon: 'cube',
    group: '',
  },
  {
    address: '/models/:id',
    role: 'viewer',
    ...later(async () => (await import('./pages/models/model.js')).ModelPage),
    group: '',
  },
  {
    address: '/models/:id/compare',
    role: 'viewer',
    ...later(async () => (await import('./pages/models/compare/compare.js')).ComparePage),
    group: '',
  },
  {
    address: '/leads',
    role: 'admin',
    ...later(async () => (await import('./pages/leads/leads.js')).LeadsPage),
    menu: 'Leads',
    icon: 'people',
    group: '',
  },
  {
    address: '/leads/:id',
    role: 'admin',
    ...later(async () => (await import('./pages/leads/lead.js')).LeadPage),
    group: '',
  },
  {
    address: '/jobs',
    role: 'admin',
    ...later(async () => (await import('./pages/jobs/jobs.js')).JobsPage),
    menu: 'Jobs',
    icon: 'file',
    group: '',
  },
  {
    address: '/jobs/new',
    role: 'admin',
    ...later(async () => (await import('./pages/jobs/new-job.js')).NewJobPage),
    group: '',
  },
  {
    address: '/jobs/:id',
    role: 'admin',
    ...later(async () => (await import('./pages/jobs/job.js')).JobPage),
    group: '',
  },
  {
    address: '/outcomes',
    role: 'admin',
    ...later(async () => (await import('./pages/outcomes/outcomes.js')).OutcomesPage),
    menu: 'Outcomes',
    icon: 'flag',
    group: '',
  },
  {
    address: '/playground',
    role: 'admin',
    ...later(async () => (await import('./pages/leads/playground.js')).PlaygroundPage),
    menu: 'Playground',
    icon: 'play',
    group: '',
  },
  {
    address: '/keys',
    role: 'admin',
    ...later(async () => (await import('./pages/organisation/keys/keys.js')).KeysPage),
    menu: 'API keys',
    icon: 'key',
    group: 'Connect',
  },
  {
    address: '/crm',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/crm.js')).CrmPage),
    menu: 'CRM set-up',
    icon: 'plug',
    group: 'Connect',
  },
  {
    address: '/refused-calls',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/refused-calls.js')).RefusedCallsPage),
    menu: 'Refused calls',
    icon: 'barred',
    group: 'Connect',
  },
  {
    address: '/usage',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/usage.js')).UsagePage),
    menu: 'Usage',
    icon: 'bars',
    group: 'Settings',
  },
  {
    address: '/settings',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/settings.js')).SettingsPage),
    menu: 'Settings',
    icon: 'sliders',
    group: 'Settings',
  },
  {
    address: '/sessions',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/sessions.js')).SessionsPage),
    menu: 'Sessions',
    icon: 'screen',
    group: 'Settings',
  },
  {
    address: '/audit',
    role: 'viewer',
    ...later(async () => (await import('./pages/organisation/audit.js')).AuditPage),
    menu: 'Audit log',
    icon: 'page',
    group: 'Settings',
  },
  ...[
    {
      address: '/orgs',
      ...later(async () => (await import('./pages/operator/orgs.js')).OrganisationsPage),
      menu: 'Organisations',
      icon: 'building' as const,
    },
    {
      address: '/operator-sessions',
      ...later(async () => (await import('./pages/organisation/sessions.js')).OperatorSessionsPage),
      menu: 'Operator sessions',
      icon: 'screen' as const,
    },
    {
      address: '/fleet',
      ...later(async () => (await import('./pages/operator/fleet.js')).FleetPage),
      menu: 'Queues and workers',
      icon: 'queue' as const,
    },
  ].map((page) => ({ ...page, role: 'operator', group: 'Operator', isOfOperator: true }) as const),
];

/** Loads the code of the page at an address of this console, so that the page opens at once. */
export function preloadPage(path: string): void {
  const address = path.replace(/^\/o\/[^/]+/, '').replace(/\/$/, '');
  const isAt = (page: PageEntry) => new RegExp(`^${page.address.replace(/:\w+/, '[^/]+').replace(/^\/$/, '')}$`);
  pages.find((page) => isAt(page).test(address))?.preload();
}
